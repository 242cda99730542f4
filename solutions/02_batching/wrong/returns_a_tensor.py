"""Returns a padded tensor in place of lists.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-     return outputs
+     longest = max(map(len, outputs), default=0)
+     rows = [output + [pad_id] * (longest - len(output)) for output in outputs]
+     return torch.tensor(rows)  # type: ignore[return-value]
""",
    "BatchEngine.execute": r"""
-         return [self.tokenizer.decode(output) for output in outputs]
+         return [self.tokenizer.decode([int(i) for i in output]) for output in outputs]
""",
}
