"""The result so far keeps its size when the maximum rises.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None], input_precision="ieee")
+         acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
""",
}
