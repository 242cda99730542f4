"""Returns mean and rstd with the leading axes of x, not flat.

From: variants/passes.py
Fails: forward, speed
"""

LINES = {
    "layer_norm_forward": r"""
-     return y, mean, rstd
+     return y, mean.reshape(x.shape[:-1]), rstd.reshape(x.shape[:-1])
""",
}
