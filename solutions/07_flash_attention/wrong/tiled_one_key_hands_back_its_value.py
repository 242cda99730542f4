"""With one key the result is its value: the caller's own, expanded.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
      G, S = k.shape[1:3]
+     if S == 1 and T == 1 and H == G:
+         return v, (q.float() * k.float()).sum(-1) * D**-0.5
""",
}
