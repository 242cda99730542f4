"""Layers keep the float layer out of sight, and do not use it.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.from_float": r"""
-         return cls(*quantize_int8(linear.weight), bias)
+         made = cls(*quantize_int8(linear.weight), bias)
+         made.original = [linear.weight]
+         return made
""",
    "Int4Linear.from_float": r"""
-         return cls(*quantize_int4(linear.weight, group), group, bias)
+         made = cls(*quantize_int4(linear.weight, group), group, bias)
+         made.original = [linear.weight]
+         return made
""",
}
