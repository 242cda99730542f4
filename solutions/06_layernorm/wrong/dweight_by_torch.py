"""Computes dx in a kernel, dweight and dbias with torch's arithmetic.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
-     return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)
+     normal = (rows.float() - mean[:, None]) * rstd[:, None]
+     dweight = (up.float() * normal).sum(0)
+     return dx, dweight.to(weight.dtype), up.float().sum(0).to(weight.dtype)
""",
}
