"""Int8Linear divides x by its size, where it lies, and forgets to put it back.

From: variants/simple.py
Fails: linears, model
"""


class Int8Linear(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        size = x.abs().amax()
        size = torch.where(size > 0, size, 1.0)
        x /= size
        y = F.linear(x, dequantize_int8(self.q, self.scale).to(x.dtype)) * size
        return y if self.bias is None else y + self.bias.to(x.dtype)
