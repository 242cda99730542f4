"""Casts weight to the dtype of x before backward, also where it is wider.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
      up, rows = as_rows(dy), as_rows(x)
+     given, weight = weight, weight.to(x.dtype)
...
-         return dx, torch.zeros_like(weight), torch.zeros_like(weight)
+         return dx, torch.zeros_like(given), torch.zeros_like(given)
...
-     return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)
+     return dx, dweight.sum(0).to(given.dtype), dbias.sum(0).to(given.dtype)
""",
}
