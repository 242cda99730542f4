"""Layers compute in float32 and return it.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.forward": r"""
-         bias = None if self.bias is None else self.bias.to(x.dtype)
-         return F.linear(x, dequantize_int8(self.q, self.scale).to(x.dtype), bias)
+         bias = None if self.bias is None else self.bias.float()
+         return F.linear(x.float(), dequantize_int8(self.q, self.scale), bias)
""",
}
