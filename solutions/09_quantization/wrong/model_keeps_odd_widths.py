"""Layers whose width is no multiple of 32 stay in float.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-         if isinstance(module, nn.Linear) and last not in skip:
+         if isinstance(module, nn.Linear) and last not in skip and module.in_features % 32 == 0:
""",
}
