"""Layers multiply codes with scales in x's dtype.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.forward": r"""
-         return F.linear(x, dequantize_int8(self.q, self.scale).to(x.dtype), bias)
+         weight = self.q.to(x.dtype) * self.scale.to(x.dtype)[:, None]
+         return F.linear(x, weight, bias)
""",
}


class Int4Linear(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        codes = dequantize_int4(self.packed, torch.ones_like(self.scale), self.zero, self.group)
        weight = codes.to(x.dtype) * self.scale.to(x.dtype).repeat_interleave(self.group, dim=1)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, weight, bias)
