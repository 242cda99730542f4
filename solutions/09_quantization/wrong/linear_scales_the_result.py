"""Int8Linear multiplies with codes in x's dtype and scales the result.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.forward": r"""
          bias = None if self.bias is None else self.bias.to(x.dtype)
-         return F.linear(x, dequantize_int8(self.q, self.scale).to(x.dtype), bias)
+         y = F.linear(x, self.q.to(x.dtype)) * self.scale.to(x.dtype)
+         return y if bias is None else y + bias
""",
}
