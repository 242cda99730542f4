"""from_float turns the layer that it is given into float32.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.from_float": r"""
-         return cls(*quantize_int8(linear.weight), bias)
+         return cls(*quantize_int8(linear.float().weight), bias)
""",
    "Int4Linear.from_float": r"""
-         return cls(*quantize_int4(linear.weight, group), group, bias)
+         return cls(*quantize_int4(linear.float().weight, group), group, bias)
""",
}
