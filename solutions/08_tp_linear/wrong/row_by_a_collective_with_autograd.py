"""Torch's all-reduce with a gradient sums that over ranks as well.

From: variants/plain.py
Fails: row
"""

from torch.distributed.nn import functional

LINES = {
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         group = self.group or dist.group.WORLD
+         y = functional.all_reduce(linear(x, self.weight), group=group)
""",
}
