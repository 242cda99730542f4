"""Each tile has the block of its first position.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-             tables + (positions // size) * table_strides[1], mask=inside, other=0
+             tables + (start + positions * 0) // size * table_strides[1], mask=inside, other=0
""",
}
