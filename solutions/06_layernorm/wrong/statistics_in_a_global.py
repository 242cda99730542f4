"""Keeps what backward needs in one place, not in ctx: a second layer overwrites it.

From: variants/simple.py
Fails: backward, speed
"""

LINES = {
    "": r"""
      return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)
+ SAVED: list[Any] = []
...
-         ctx.save_for_backward(x, weight, mean, rstd)
+         SAVED[:] = x, weight, mean, rstd
...
-         x, weight, mean, rstd = ctx.saved_tensors
+         x, weight, mean, rstd = SAVED
""",
}
