"""Answers that are alike: found, put together by origin, shown side by side, and talked about.

What is found is a reason to look, never a verdict: no program changes a mark by it.
"""
