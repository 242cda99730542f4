"""A hop is paid inside a stage too.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-             needs.append((("F", microbatch, block - 1), stages > 1))
+             needs.append((("F", microbatch, block - 1), True))
...
-             needs.append((("F", microbatch, block), False))
+             needs.append((("F", microbatch, block), True))
""",
}
