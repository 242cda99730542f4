"""Gives dx the strides of x, also where x is one row expanded to many.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
-     dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
+     dx = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
+     out = torch.empty(rows.shape, dtype=x.dtype, device=x.device)
...
-         dx,
+         out,
...
          num_warps=warps,
      )
+     dx.copy_(out.reshape(x.shape))
""",
}
