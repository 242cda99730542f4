"""Takes max_new_tokens for the length of the whole sequence.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-     for _ in range(max_new_tokens):
+     for _ in range(max_new_tokens - max(map(len, prompts), default=0)):
""",
}
