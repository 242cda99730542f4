"""A causal row of tiles leaves out the tile that holds the diagonal's end.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-         for j in range(0, min(S, i + block + S - T) if causal else S, block):
+         for j in range(0, min(S, i + S - T) if causal else S, block):
""",
}
