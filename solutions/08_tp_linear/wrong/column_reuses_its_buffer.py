"""Outputs are gathered into one buffer, so that the next call changes the last one's.

From: variants/plain.py
Fails: column
"""

LINES = {
    "": r"""
+ class GatherInto(torch.autograd.Function):
+     @staticmethod
+     def forward(ctx: Any, part: Tensor, layer: Any) -> Tensor:
+         rank, world = dist.get_rank(layer.group), dist.get_world_size(layer.group)
+         ctx.begin, ctx.width = rank * part.shape[-1], part.shape[-1]
+         parts = [torch.empty_like(part) for _ in range(world)]
+         dist.all_gather(parts, part.contiguous(), group=layer.group)
+         shape = (*part.shape[:-1], world * part.shape[-1])
+         if layer.whole is None or layer.whole.shape != shape:
+             layer.whole = part.new_empty(shape)
+         torch.cat(parts, dim=-1, out=layer.whole)
+         return layer.whole.view(shape)
+
+     @staticmethod
+     def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
+         return grad.narrow(-1, ctx.begin, ctx.width), None
+
+
  class ColumnParallelLinear(nn.Module):
""",
    "ColumnParallelLinear.__init__": r"""
          self.group, self.gather_output = group, gather_output
+         self.whole: Tensor | None = None
""",
    "ColumnParallelLinear.forward": r"""
-         return Gather.apply(y, self.group) if self.gather_output else y
+         return GatherInto.apply(y, self) if self.gather_output else y
""",
}
