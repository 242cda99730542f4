"""x waits for backward on the layer, where the next call puts its own.

From: variants/plain.py
Fails: row
"""

LINES = {
    "": r'''
+ class Products(torch.autograd.Function):
+     """x stays on the layer until backward."""
+
+     @staticmethod
+     def forward(ctx: Any, x: Tensor, weight: Tensor, layer: Any) -> Tensor:
+         ctx.layer, layer.x = layer, x
+         return x @ weight.t()
+
+     @staticmethod
+     def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
+         layer = ctx.layer
+         x, weight = layer.x, layer.weight
+         dweight = grad.reshape(-1, grad.shape[-1]).t() @ x.reshape(-1, x.shape[-1])
+         return grad @ weight, dweight, None
+
+
  class ColumnParallelLinear(nn.Module):
''',
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         y = Sum.apply(Products.apply(x, self.weight, self), self.group)
""",
}
