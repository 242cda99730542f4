"""The kernel takes lengths for contiguous.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-     length = tl.load(lengths + row * length_strides[0])
+     length = tl.load(lengths + row)
""",
}
