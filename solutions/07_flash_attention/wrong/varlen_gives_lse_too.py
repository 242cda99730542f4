"""A tuple of o and lse comes back, as from the dense function.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
          num_warps=warps, num_stages=stages,
      )  # fmt: skip
-     return o
+     return o, q[..., 0].float()
""",
}
