"""quantize_model makes Int8Linear layers whatever it is asked for.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-                 made[module] = linear_cls.from_float(module)
+                 made[module] = Int8Linear.from_float(module)
""",
}
