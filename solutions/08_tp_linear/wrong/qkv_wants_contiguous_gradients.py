"""The gradient that arrives is taken for contiguous.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "": r"""
+ class Project(torch.autograd.Function):
+     @staticmethod
+     def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
+         ctx.save_for_backward(x, weight)
+         return linear(x, weight)
+
+     @staticmethod
+     def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
+         x, weight = ctx.saved_tensors
+         flat = grad.view(-1, grad.shape[-1])
+         return (flat @ weight).view(x.shape), flat.t() @ x.reshape(-1, x.shape[-1])
+
+
  class ColumnParallelLinear(nn.Module):
""",
    "QKVParallelLinear.forward": r"""
-         return linear(x, self.wq), linear(x, wk), linear(x, wv)
+         return tuple(Project.apply(x, w) for w in (self.wq, wk, wv))
""",
}
