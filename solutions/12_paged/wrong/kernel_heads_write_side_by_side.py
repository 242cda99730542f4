"""Each program writes all rows of its tile, those of the next key head too.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         result.to(o.dtype.element_ty), mask=mine,
+         result.to(o.dtype.element_ty),
+         mask=(head < share * tl.num_programs(1))[:, None] & (d < WIDTH)[None, :],
""",
}
