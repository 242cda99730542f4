"""No answer is longer than 64 tokens, whatever max_new_tokens says.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         outputs = generate(self.model, encoded, max_new_tokens, eos_ids, pad_id=0)
+         outputs = generate(self.model, encoded, min(64, max_new_tokens), eos_ids, pad_id=0)
""",
}
