"""The backward reads weight as if its numbers lay one behind the other.

From: variants/simple.py
Fails: backward
"""

LINES = {
    "layer_norm_backward": r"""
-         weight, strides = weight.contiguous(), (up.stride(0), rows.stride(0))
+         strides = (up.stride(0), rows.stride(0))
""",
}
