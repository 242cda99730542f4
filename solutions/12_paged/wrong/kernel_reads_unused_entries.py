"""Entries of the table behind the length are loaded and followed.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-             tables + (positions // size) * table_strides[1], mask=inside, other=0
+             tables + (positions // size) * table_strides[1]
""",
}
