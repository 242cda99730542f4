"""W may come before its B.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-             needs.append((("B", microbatch, block), False))
+             pass
""",
}
