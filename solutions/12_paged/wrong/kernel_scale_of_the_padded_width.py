"""The scale is that of the width rounded up to a power of two.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-         width**-0.5 * LOG2_E, share, size, keys,
+         block_d**-0.5 * LOG2_E, share, size, keys,
""",
}
