"""The sum so far keeps its size when the maximum rises.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         total = total * shrink + tl.sum(p, 1)
+         total = total + tl.sum(p, 1)
""",
}
