"""layer_norm returns y without a way back for gradients.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm": r"""
-     return LayerNorm.apply(x, weight, bias, eps)
+     return layer_norm_forward(x, weight, bias, eps)[0]
""",
}
