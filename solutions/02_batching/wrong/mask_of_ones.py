"""Everything may attend to everything.

From: variants/plain.py
Fails: mask, generate, engine
"""

LINES = {
    "causal_mask": r"""
-     real = valid[:, :, None] & valid[:, None, :]
-     return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
+     batch, width = valid.shape
+     return torch.ones(batch, 1, width, width, dtype=torch.bool)
""",
}
