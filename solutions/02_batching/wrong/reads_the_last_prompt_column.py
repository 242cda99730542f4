"""Reads the logits at the column where the prompts ended.

From: variants/grown.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         chosen = logits[:, -1].argmax(-1)
+         chosen = logits[:, max(map(len, prompts)) - 1].argmax(-1)
""",
}
