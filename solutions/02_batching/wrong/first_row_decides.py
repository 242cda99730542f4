"""The first row's token is given to all rows.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         chosen = dict(zip(live, logits[:, -1].argmax(-1).tolist(), strict=True))
+         chosen = dict(zip(live, [int(logits[0, -1].argmax())] * len(live), strict=True))
""",
}
