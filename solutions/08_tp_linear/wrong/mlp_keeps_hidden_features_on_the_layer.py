"""The hidden features wait for backward on the layer, where the next call puts its own.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "": r"""
+ class Down(torch.autograd.Function):
+     @staticmethod
+     def forward(ctx: Any, hidden: Tensor, weight: Tensor, layer: Any) -> Tensor:
+         ctx.layer, layer.hidden = layer, hidden.detach()
+         return hidden @ weight.t()
+
+     @staticmethod
+     def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
+         hidden, weight = ctx.layer.hidden, ctx.layer.w_down
+         dweight = grad.reshape(-1, grad.shape[-1]).t() @ hidden.reshape(-1, hidden.shape[-1])
+         return grad @ weight, dweight, None
+
+
  class ParallelMLP(nn.Module):
""",
    "ParallelMLP.forward": r"""
-         return Sum.apply(linear(hidden, self.w_down), self.group)
+         return Sum.apply(Down.apply(hidden, self.w_down, self), self.group)
""",
}
