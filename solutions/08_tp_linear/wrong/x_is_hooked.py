"""The sum is hooked to x itself: what comes back to x another way is summed too.

From: variants/plain.py
Fails: column, qkv, mlp
"""

LINES = {
    "": r"""
+ def summed(grad: Tensor, group: ProcessGroup | None) -> Tensor:
+     total = grad.clone(memory_format=torch.contiguous_format)
+     dist.all_reduce(total, group=group)
+     return total
+
+
+ def hooked(x: Tensor, group: ProcessGroup | None) -> Tensor:
+     if x.requires_grad:
+         x.register_hook(lambda grad: summed(grad, group))
+     return x
+
+
  class ColumnParallelLinear(nn.Module):
""",
    "ColumnParallelLinear.forward": r"""
-         y = linear(Copy.apply(x, self.group), self.weight, self.bias)
+         y = linear(hooked(x, self.group), self.weight, self.bias)
""",
    "QKVParallelLinear.forward": r"""
-         x, wk, wv = Copy.apply(x, self.group), self.wk, self.wv
+         x, wk, wv = hooked(x, self.group), self.wk, self.wv
""",
    "ParallelMLP.forward": r"""
-         x = Copy.apply(x, self.group)
+         x = hooked(x, self.group)
""",
}
