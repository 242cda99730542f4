"""Real tokens see all real tokens, the later ones too.

From: variants/plain.py
Fails: mask, generate, engine
"""

LINES = {
    "causal_mask": r"""
-     return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
+     return (real | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
""",
}
