"""Takes id 1 for EOS, as in the target checkpoint.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         eos_ids = self.config.eos_token_ids
+         eos_ids = (1,)
""",
}
