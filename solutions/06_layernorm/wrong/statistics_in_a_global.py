"""Keeps what backward needs in one place, not in ctx: a second layer overwrites it.

From: variants/simple.py
Fails: backward, speed
"""

LINES = {
    "": r"""
+ SAVED: list[Any] = []
+
+
  class LayerNorm(torch.autograd.Function):
""",
    "LayerNorm.forward": r"""
-         ctx.save_for_backward(x, weight, mean, rstd)
+         SAVED[:] = x, weight, mean, rstd
""",
    "LayerNorm.backward": r"""
-         x, weight, mean, rstd = ctx.saved_tensors
+         x, weight, mean, rstd = SAVED
""",
}
