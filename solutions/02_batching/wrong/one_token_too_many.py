"""Generates max_new_tokens + 1 tokens.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-     for _ in range(max_new_tokens):
+     for _ in range(max_new_tokens + 1):
""",
}
