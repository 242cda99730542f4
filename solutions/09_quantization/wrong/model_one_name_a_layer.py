"""A layer with two names is replaced at one of them.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-     for name, module in list(new.named_modules(remove_duplicate=False)):
+     for name, module in list(new.named_modules()):
""",
}
