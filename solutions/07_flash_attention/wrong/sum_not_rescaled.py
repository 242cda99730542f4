"""The kernel's running sum keeps its old unit when the maximum grows.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-         total = total * shrink + tl.sum(p, 1)
+         total = total + tl.sum(p, 1)
""",
}
