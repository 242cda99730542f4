"""T > S is not refused.

From: variants/plain.py
Fails: attention
"""

LINES = {
    "attention": r"""
-     if new > context:
-         raise ValueError("q has more tokens than k")
""",
}
