"""Gradients go back without a hop.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-                 needs.append((("B", microbatch, block + 1), stages > 1))
+                 needs.append((("B", microbatch, block + 1), False))
""",
}
