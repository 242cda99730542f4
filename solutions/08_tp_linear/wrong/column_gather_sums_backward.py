"""The gradient of the gather is summed over ranks, though all have the same.

From: variants/plain.py
Fails: column
"""

LINES = {
    "Gather.forward": r"""
-         ctx.begin, ctx.width = rank * y.shape[-1], y.shape[-1]
+         ctx.begin, ctx.width, ctx.group = rank * y.shape[-1], y.shape[-1], group
""",
    "Gather.backward": r"""
-         return grad.narrow(-1, ctx.begin, ctx.width), None
+         total = grad.contiguous().clone()
+         dist.all_reduce(total, group=ctx.group)
+         return total.narrow(-1, ctx.begin, ctx.width), None
""",
}
