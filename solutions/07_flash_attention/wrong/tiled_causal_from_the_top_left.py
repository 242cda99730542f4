"""The first query stands on the first key, whatever T and S are.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-         last = torch.arange(i, i + rows.shape[-2], device=q.device)[:, None] + S - T
+         last = torch.arange(i, i + rows.shape[-2], device=q.device)[:, None]
...
-         for j in range(0, min(S, i + block + S - T) if causal else S, block):
+         for j in range(0, min(S, i + block) if causal else S, block):
""",
}
