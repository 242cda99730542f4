"""The running maximum of the PyTorch version starts at 0: scores far below it vanish.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-         top = torch.full_like(rows[..., :1], -math.inf)  # running maximum of the scores
+         top = torch.zeros_like(rows[..., :1])  # running maximum of the scores
""",
}
