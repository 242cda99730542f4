"""The EOS that ends the sequence is returned.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
                  token = int(logits.argmax())
+             new.append(token)
              if token in self.config.eos_token_ids:
                  break
-             new.append(token)
""",
}
