"""Query head h of the PyTorch version reads key head h % G.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-     grouped, keys, values = q.reshape(B, G, H // G, T, D), k[:, :, None], v[:, :, None]
+     keys, values = (x.repeat(1, H // G, 1, 1)[:, :, None] for x in (k, v))
+     grouped = q[:, :, None]
""",
}
