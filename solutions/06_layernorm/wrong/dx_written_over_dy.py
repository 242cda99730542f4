"""Writes dx over dy where that is possible.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
-     return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)
+     if dy.dtype == x.dtype and dy.is_contiguous():
+         dx = dy.copy_(dx)
+     return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)
""",
}
