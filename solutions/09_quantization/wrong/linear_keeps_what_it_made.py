"""A layer keeps the weight that its first forward dequantized.

From: variants/simple.py
Fails: linears
"""


class Int8Linear(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if not hasattr(self, "weight"):
            self.weight = dequantize_int8(self.q, self.scale).to(x.dtype)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, self.weight.to(x.dtype), bias)


class Int4Linear(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if not hasattr(self, "weight"):
            self.weight = dequantize_int4(self.packed, self.scale, self.zero, self.group)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, self.weight.to(x.dtype), bias)
