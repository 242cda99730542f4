"""Each level of a tree carries n / W.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         return 2 * (world - 1).bit_length() * (alpha + nbytes / beta)
+         return 2 * (world - 1).bit_length() * (alpha + nbytes / beta / world)
""",
}
