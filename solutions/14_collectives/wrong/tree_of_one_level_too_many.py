"""A tree of a power of two has a level too many.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         return 2 * (world - 1).bit_length() * (alpha + nbytes / beta)
+         return (2 * world.bit_length() if world > 1 else 0) * (alpha + nbytes / beta)
""",
}
