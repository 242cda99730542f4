"""Int8Linear multiplies with codes in x's dtype and scales the result.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.forward": r"""
-         return F.linear(x, dequantize_int8(self.q, self.scale).to(x.dtype), self.bias)
+         y = F.linear(x, self.q.to(x.dtype)) * self.scale.to(x.dtype)
+         return y if self.bias is None else y + self.bias
""",
}
