"""layer_norm normalises with 1e-5 whatever eps it is given.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm": r"""
-     return LayerNorm.apply(x, weight, bias, eps)
+     return LayerNorm.apply(x, weight, bias, 1e-5)
""",
}
