"""The causal mask is made once, for all queries and keys.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
      grouped, keys, values = q.reshape(B, G, H // G, T, D), k[:, :, None], v[:, :, None]
+     hidden = torch.ones(T, S, dtype=torch.bool, device=q.device).triu(S - T + 1)
      for i in range(0, T, block):
          rows = grouped[..., i : i + block, :].float() * D**-0.5
-         last = torch.arange(i, i + rows.shape[-2], device=q.device)[:, None] + S - T
...
-                 columns = torch.arange(j, j + scores.shape[-1], device=q.device)
-                 scores = scores.masked_fill(columns > last, -math.inf)
+                 tile = hidden[i : i + block, j : j + block]
+                 scores = scores.masked_fill(tile, -math.inf)
""",
}
