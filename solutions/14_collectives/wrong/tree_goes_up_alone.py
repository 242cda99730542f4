"""A tree is gone through once.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         return 2 * (world - 1).bit_length() * (alpha + nbytes / beta)
+         return (world - 1).bit_length() * (alpha + nbytes / beta)
""",
}
