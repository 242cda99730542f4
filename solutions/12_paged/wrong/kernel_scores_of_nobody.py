"""Positions behind the length have the score 0, not minus infinity.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         scores = tl.where(inside[None, :], scores, float("-inf"))
""",
}
