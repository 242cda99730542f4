"""lse is the logarithm to the base 2: what exp2 works with is not turned back.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "_forward": r"""
-         lse = (top + tl.log2(tl.where(some, total, 1.0))) * 0.6931471805599453
+         lse = top + tl.log2(tl.where(some, total, 1.0))
""",
}
