"""Handing in: to a branch that work is collected from, or at a grading service."""
