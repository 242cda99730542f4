"""Computes rstd from x again in backward, without the forward's eps.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
      strides = (up.stride(0), rows.stride(0))
+     wide = rows.float() - mean[:, None]
+     rstd = wide.square().mean(-1).rsqrt()
""",
}
