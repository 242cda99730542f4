"""B begins once its own F has ended.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-             if block < blocks - 1:
-                 needs.append((("B", microbatch, block + 1), stages > 1))
""",
}
