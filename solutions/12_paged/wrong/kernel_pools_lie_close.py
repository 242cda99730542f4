"""The kernel takes the pools for contiguous.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         k_at = block * k_strides[0] + offset * k_strides[1]
+         k_at = (block * size + offset) * k_strides[1]
""",
}
