"""Draws tokens from the distribution.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         chosen = dict(zip(live, logits[:, -1].argmax(-1).tolist(), strict=True))
+         chosen = dict(
+             zip(live, torch.multinomial(logits[:, -1].softmax(-1), 1)[:, 0].tolist(), strict=True)
+         )
""",
}
