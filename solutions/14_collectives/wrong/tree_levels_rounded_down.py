"""A tree of five ranks has two levels.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         return 2 * (world - 1).bit_length() * (alpha + nbytes / beta)
+         return 2 * (world.bit_length() - 1) * (alpha + nbytes / beta)
""",
}
