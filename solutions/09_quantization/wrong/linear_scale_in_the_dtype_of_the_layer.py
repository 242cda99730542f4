"""Layers keep their scales in the dtype of the weight.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.from_float": r"""
-         return cls(*quantize_int8(linear.weight), bias)
+         q, scale = quantize_int8(linear.weight)
+         return cls(q, scale.to(linear.weight.dtype), bias)
""",
    "Int4Linear.from_float": r"""
-         return cls(*quantize_int4(linear.weight, group), group, bias)
+         packed, scale, zero = quantize_int4(linear.weight, group)
+         return cls(packed, scale.to(linear.weight.dtype), zero, group, bias)
""",
}
