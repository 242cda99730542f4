"""A padding query may attend to every key.

From: variants/plain.py
Fails: mask
"""

LINES = {
    "causal_mask": r"""
-     return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
+     return (real.tril() | ~valid[:, :, None])[:, None]
""",
}
