"""The queries are scaled on loading, and the scores again.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_forward": r"""
      scale = tl.abs(scale)
+     q = (q * (scale * 0.6931471805599453)).to(q.dtype)
""",
}
