"""Layers compute and answer in the dtype that the float layer had.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.from_float": r"""
-         return cls(*quantize_int8(linear.weight), bias)
+         made = cls(*quantize_int8(linear.weight), bias)
+         made.dtype = linear.weight.dtype
+         return made
""",
    "Int8Linear.forward": r"""
-         bias = None if self.bias is None else self.bias.to(x.dtype)
-         return F.linear(x, dequantize_int8(self.q, self.scale).to(x.dtype), bias)
+         weight = dequantize_int8(self.q, self.scale).to(self.dtype)
+         return F.linear(x.to(self.dtype), weight, self.bias)
""",
    "Int4Linear.from_float": r"""
-         return cls(*quantize_int4(linear.weight, group), group, bias)
+         made = cls(*quantize_int4(linear.weight, group), group, bias)
+         made.dtype = linear.weight.dtype
+         return made
""",
    "Int4Linear.forward": r"""
-         bias = None if self.bias is None else self.bias.to(x.dtype)
-         return F.linear(x, weight.to(x.dtype), bias)
+         return F.linear(x.to(self.dtype), weight.to(self.dtype), self.bias)
""",
}
