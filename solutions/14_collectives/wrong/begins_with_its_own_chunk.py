"""A rank sends its own chunk first, and so ends with that of its right neighbour.

Fails: reduce_scatter, all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-     start, stop = bounds[(rank - 1) % world]
+     start, stop = bounds[rank]
...
-         start, stop = bounds[(rank - step - 2) % world]
+         start, stop = bounds[(rank - step - 1) % world]
""",
}
