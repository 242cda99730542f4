"""Parts of a row count alike, however much their keys weigh.

Fails: triton, speed
"""

LINES = {
    "_join": r"""
-         weight = tl.exp2(tl.load(sums + at) - top)
+         weight = tl.where(tl.load(sums + at) > float("-inf"), 1.0, 0.0)
+         total = tl.where(part > 0, total, 0.0) + weight
""",
}
