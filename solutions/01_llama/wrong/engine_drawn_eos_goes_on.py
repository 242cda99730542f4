"""An EOS that was drawn at a temperature above 0 does not end the text.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-             if token in self.config.eos_token_ids:
+             if token in self.config.eos_token_ids and not temperature:
                  break
""",
}
