"""Returns dweight and dbias in the dtype of x.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
-     return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)
+     return dx, dweight.sum(0).to(x.dtype), dbias.sum(0).to(x.dtype)
""",
}
