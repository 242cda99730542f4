"""lse is the logarithm of the running sum alone.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "_forward": r"""
-         lse = (top + tl.log2(tl.where(some, total, 1.0))) * 0.6931471805599453
+         lse = tl.log2(tl.where(some, total, 1.0)) * 0.6931471805599453
""",
}
