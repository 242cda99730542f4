"""Heads are grouped by view, which fails for transposed queries.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-     grouped, keys, values = q.reshape(B, G, H // G, T, D), k[:, :, None], v[:, :, None]
+     grouped, keys, values = q.view(B * H, T, D).view(B, G, -1, T, D), k[:, :, None], v[:, :, None]
""",
}
