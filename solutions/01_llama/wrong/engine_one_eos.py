"""Only the first EOS id ends the sequence.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-             if token in self.config.eos_token_ids:
+             if token in self.config.eos_token_ids[:1]:
""",
}
