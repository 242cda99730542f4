"""execute always asks for 128 tokens.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         outputs = generate(self.model, encoded, max_new_tokens, eos_ids, pad_id=0)
+         outputs = generate(self.model, encoded, 128, eos_ids, pad_id=0)
""",
}
