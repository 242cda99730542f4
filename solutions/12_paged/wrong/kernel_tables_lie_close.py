"""The kernel takes the tables for contiguous.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-             tables + (positions // size) * table_strides[1], mask=inside, other=0
+             tables + positions // size, mask=inside, other=0
""",
}
