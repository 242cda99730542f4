"""The last step is left out: the sum lacks a rank.

Fails: reduce_scatter, all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-     for step in range(world - 1):
+     for step in range(world - 2):
""",
}
