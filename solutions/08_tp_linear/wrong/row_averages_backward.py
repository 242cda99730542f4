"""The gradient of the sum is averaged over ranks: right, and sent for nothing.

From: variants/plain.py
Fails: row
"""

LINES = {
    "": r"""
+ class Total(torch.autograd.Function):
+     @staticmethod
+     def forward(ctx: Any, x: Tensor, group: ProcessGroup | None) -> Tensor:
+         ctx.group = group
+         total = x.clone()
+         dist.all_reduce(total, group=group)
+         return total
+
+     @staticmethod
+     def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
+         total = grad.contiguous().clone()
+         dist.all_reduce(total, group=ctx.group)
+         return total / dist.get_world_size(ctx.group), None
+
+
  class RowParallelLinear(nn.Module):
""",
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         y = Total.apply(linear(x, self.weight), self.group)
""",
}
