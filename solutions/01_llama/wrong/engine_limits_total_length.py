"""max_new_tokens counts the prompt too.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-         while len(new) < max_new_tokens:
+         while len(prompt + new) < max_new_tokens:
""",
}
