"""Leaves rows that do not fit into one block to torch's arithmetic.

From: variants/passes.py
Fails: forward, speed
"""

LINES = {
    "layer_norm_forward": r"""
  ) -> tuple[Tensor, Tensor, Tensor]:
+     if x.shape[-1] > MAX_BLOCK:
+         wide = x.float()
+         mean = wide.mean(-1, keepdim=True)
+         rstd = ((wide - mean).square().mean(-1, keepdim=True) + eps).rsqrt()
+         y = ((wide - mean) * rstd * weight.float() + bias.float()).to(x.dtype)
+         return y, mean.flatten(), rstd.flatten()
""",
}
