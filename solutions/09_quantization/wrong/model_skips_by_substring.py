"""A layer is skipped if its name contains one to skip.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-         if isinstance(module, nn.Linear) and last not in skip:
+         if isinstance(module, nn.Linear) and not any(part in name for part in skip):
""",
}
