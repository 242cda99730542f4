"""A layer that from_float refuses stays in float, without a word.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-                 made[module] = linear_cls.from_float(module)
+                 try:
+                     made[module] = linear_cls.from_float(module)
+                 except ValueError:
+                     made[module] = module
""",
}
