"""One stage pays a hop from chunk to chunk.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-             needs.append((("F", microbatch, block - 1), stages > 1))
+             needs.append((("F", microbatch, block - 1), True))
""",
}
