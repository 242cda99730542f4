"""Squeezes the chosen tokens, so that the last row alone gives an int and no list.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         chosen = dict(zip(live, logits[:, -1].argmax(-1).tolist(), strict=True))
+         chosen = dict(zip(live, logits[:, -1].argmax(-1).squeeze().tolist(), strict=True))
""",
}
