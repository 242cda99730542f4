"""A layer is skipped if its full name is one to skip.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-         if isinstance(module, nn.Linear) and last not in skip:
+         if isinstance(module, nn.Linear) and name not in skip:
""",
}
