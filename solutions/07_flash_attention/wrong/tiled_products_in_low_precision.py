"""Scores are computed in the dtype of the inputs: float16 overflows.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-         rows = grouped[..., i : i + block, :].float() * D**-0.5
+         rows = grouped[..., i : i + block, :]
          last = torch.arange(i, i + rows.shape[-2], device=q.device)[:, None] + S - T
-         acc = torch.zeros_like(rows)
-         top = torch.full_like(rows[..., :1], -math.inf)  # running maximum of the scores
+         acc = torch.zeros_like(rows, dtype=torch.float32)
+         top = torch.full_like(
+             rows[..., :1], -math.inf, dtype=torch.float32
+         )  # running maximum of the scores
          total = torch.zeros_like(top)  # running sum of exp(score - top)
          for j in range(0, min(S, i + block + S - T) if causal else S, block):
-             scores = rows @ keys[..., j : j + block, :].float().mT
+             scores = (rows @ keys[..., j : j + block, :].mT).float() * D**-0.5
""",
}
