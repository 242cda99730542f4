"""The tiles of x are counted on an axis of the grid that counts parts: right for one tile.

Fails: kernel
"""

LINES = {
    "_tile4_kernel": r"""
-     row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
+     row = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
""",
}
