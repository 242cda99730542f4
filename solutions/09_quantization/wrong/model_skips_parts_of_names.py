"""A layer is skipped if its name is a part of one to skip.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-         if isinstance(module, nn.Linear) and last not in skip:
+         if isinstance(module, nn.Linear) and not any(last in name for name in skip):
""",
}
