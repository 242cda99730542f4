"""layer_norm casts x to float32 first: y is float32 whatever x is.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm": r"""
-     return LayerNorm.apply(x, weight, bias, eps)
+     return LayerNorm.apply(x.float(), weight, bias, eps)
""",
}
