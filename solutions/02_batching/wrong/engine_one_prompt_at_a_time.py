"""Calls generate once for each prompt.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         outputs = generate(self.model, encoded, max_new_tokens, eos_ids, pad_id=0)
+         outputs = [generate(self.model, [e], max_new_tokens, eos_ids, 0)[0] for e in encoded]
""",
}
