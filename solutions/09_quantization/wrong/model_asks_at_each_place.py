"""A layer that stands at two places is quantized for each of them.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-             if module not in made:
-                 made[module] = linear_cls.from_float(module)
+             made[module] = linear_cls.from_float(module)
""",
}
