"""The kernel's running result keeps its old unit when the maximum grows.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-         acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None], input_precision=PRECISION)
+         acc = tl.dot(p.to(v.dtype), v, acc, input_precision=PRECISION)
""",
}
