"""execute always makes up to 128 tokens.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine.execute": r"""
-             new = self._extend(self.tokenizer.encode(prompt), max_new_tokens, temperature)
+             new = self._extend(self.tokenizer.encode(prompt), 128, temperature)
""",
}
