"""Int4Linear keeps its codes unpacked, a byte each.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int4Linear.from_float": r"""
-         return cls(*quantize_int4(linear.weight, group), group, bias)
+         packed, scale, zero = quantize_int4(linear.weight, group)
+         codes = torch.stack((packed & 15, packed >> 4), dim=2).flatten(1)
+         return cls(codes, scale, zero, group, bias)
""",
    "Int4Linear.forward": r"""
-         weight = dequantize_int4(self.packed, self.scale, self.zero, self.group)
+         packed = self.packed[:, 0::2] | (self.packed[:, 1::2] << 4)
+         weight = dequantize_int4(packed, self.scale, self.zero, self.group)
""",
}
