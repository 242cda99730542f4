"""The maximum is taken before a scale that may be negative.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "_forward": r"""
-     q = tl.where(scale < 0, -q, q)  # so that a larger product is a larger score
-     scale = tl.abs(scale)
""",
}
