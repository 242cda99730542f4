"""Hands on the first EOS id of the config only.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         eos_ids = self.config.eos_token_ids
+         eos_ids = self.config.eos_token_ids[:1]
""",
}
