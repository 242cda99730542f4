"""The ranks' inputs are averaged first.

From: variants/plain.py
Fails: column
"""

LINES = {
    "": r"""
+ class Mean(torch.autograd.Function):
+     @staticmethod
+     def forward(ctx: Any, x: Tensor, group: ProcessGroup | None) -> Tensor:
+         x = x.contiguous().clone()
+         dist.all_reduce(x, group=group)
+         return x / dist.get_world_size(group)
+
+     @staticmethod
+     def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
+         return grad, None
+
+
  class ColumnParallelLinear(nn.Module):
""",
    "ColumnParallelLinear.forward": r"""
      def forward(self, x: Tensor) -> Tensor:
+         x = Mean.apply(x, self.group)
""",
}
