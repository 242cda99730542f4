"""What comes is stored, and the rank's own part is lost.

Fails: reduce_scatter, all_reduce
"""

LINES = {
    "reduce_scatter": r"""
-         total = received + x[start:stop]
+         total = received
""",
}
