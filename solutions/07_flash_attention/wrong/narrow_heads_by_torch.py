"""Heads too narrow for tl.dot are left to the PyTorch version.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
      G, S = k.shape[1:3]
+     if D < 16:
+         factor = D**-0.5 if scale is None else scale
+         return flash_attention_torch(q * (factor * D**0.5), k, v, causal)
""",
}
