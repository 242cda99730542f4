"""Layers of a class that is derived from nn.Linear stay in float.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-         if isinstance(module, nn.Linear) and last not in skip:
+         if type(module) is nn.Linear and last not in skip:
""",
}
