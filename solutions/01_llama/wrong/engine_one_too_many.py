"""Makes max_new_tokens + 1 tokens.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-         while len(new) < max_new_tokens:
+         while len(new) <= max_new_tokens:
""",
}
