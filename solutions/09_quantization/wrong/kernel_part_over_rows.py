"""Tells the parts of a sum by their number over the rows of x: they meet in one place.

Fails: kernel
"""

LINES = {
    "_store": r"""
-     place = (tl.program_id(2) * rows + row).to(tl.int64)[None, :] * num_out + out[:, None]
+     place = (tl.program_id(2) / rows + row).to(tl.int64)[None, :] * num_out + out[:, None]
""",
}
