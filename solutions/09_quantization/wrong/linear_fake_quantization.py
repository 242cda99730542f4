"""Layers quantize, dequantize at once and keep the float result.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.from_float": r"""
-         return cls(*quantize_int8(linear.weight), bias)
+         return cls(dequantize_int8(*quantize_int8(linear.weight)), torch.ones(1), bias)
""",
    "Int8Linear.forward": r"""
-         return F.linear(x, dequantize_int8(self.q, self.scale).to(x.dtype), bias)
+         return F.linear(x, self.q.to(x.dtype), bias)
""",
    "Int4Linear.from_float": r"""
-         return cls(*quantize_int4(linear.weight, group), group, bias)
+         left = dequantize_int4(*quantize_int4(linear.weight, group), group)
+         return cls(left, torch.ones(1), torch.ones(1), group, bias)
""",
    "Int4Linear.forward": r"""
-         weight = dequantize_int4(self.packed, self.scale, self.zero, self.group)
          bias = None if self.bias is None else self.bias.to(x.dtype)
-         return F.linear(x, weight.to(x.dtype), bias)
+         return F.linear(x, self.packed.to(x.dtype), bias)
""",
}
