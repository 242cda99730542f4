"""Steps through dy with the strides of x.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
-     strides = (up.stride(0), rows.stride(0))
+     strides = (rows.stride(0), rows.stride(0))
""",
}
