"""A single query is left to the PyTorch version; all else is done in a kernel.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
      G, S = k.shape[1:3]
+     if T == 1:
+         factor = D**-0.5 if scale is None else scale
+         return flash_attention_torch(q * (factor * D**0.5), k, v, causal)
""",
}
