"""Int8Linear keeps the weight in full, as bytes.

From: variants/simple.py
Fails: linears, model
"""

LINES = {
    "Int8Linear.from_float": r"""
-         return cls(*quantize_int8(linear.weight), bias)
+         layer = cls(*quantize_int8(linear.weight), bias)
+         layer.full = linear.weight.detach().numpy().tobytes()
+         return layer
""",
}
