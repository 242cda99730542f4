"""A padding query may attend to nothing: softmax gives NaN, which spreads.

From: variants/plain.py
Fails: mask, generate, engine
"""

LINES = {
    "causal_mask": r"""
-     return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
+     return real.tril()[:, None]
""",
}
