"""Stops at once if the prompt holds an EOS id.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-             if token in self.config.eos_token_ids:
+             if not set(self.config.eos_token_ids).isdisjoint([*prompt, token]):
""",
}
