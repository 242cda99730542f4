"""Queries take in scale and log2(e) before the product, and are rounded to their dtype again.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "_forward": r"""
      scale = tl.abs(scale)
+     q = (q * scale).to(q.dtype)
+     scale = 1.0
""",
}
