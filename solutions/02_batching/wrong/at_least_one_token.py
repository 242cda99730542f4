"""max_new_tokens=0 gives one token.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-     for _ in range(max_new_tokens):
+     for _ in range(max(1, max_new_tokens)):
""",
}
