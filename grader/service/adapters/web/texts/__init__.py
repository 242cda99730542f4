"""Texts as HTML: handouts, reports, what changed between two attempts."""
