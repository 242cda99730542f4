"""Makes one token even for max_new_tokens = 0.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-         while len(new) < max_new_tokens:
+         while len(new) < max(1, max_new_tokens):
""",
}
