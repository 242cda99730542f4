"""Layers multiply bfloat16 in float16, and overflow.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int4Linear.forward": r"""
-         return F.linear(x, weight.to(x.dtype), bias)
+         dtype = x.dtype if x.dtype == torch.float32 else torch.float16
+         y = F.linear(x.to(dtype), weight.to(dtype)).to(x.dtype)
+         return y if self.bias is None else y + self.bias.to(x.dtype)
""",
}


class Int8Linear(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        dtype = x.dtype if x.dtype == torch.float32 else torch.float16
        weight = dequantize_int8(self.q, self.scale).to(dtype)
        y = F.linear(x.to(dtype), weight).to(x.dtype)
        return y if self.bias is None else y + self.bias.to(x.dtype)
