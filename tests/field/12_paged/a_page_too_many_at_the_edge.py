"""Where a row ends with its block the next block, which it does not have, is read too.

Kind: sizes
Report: https://github.com/pegainfer-project/pegainfer/issues/291
Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-     length = tl.load(lengths + row * length_strides[0])
+     length = tl.load(lengths + row * length_strides[0])
+     length += tl.where((length > 0) & (length % size == 0), size, 0)
""",
}
