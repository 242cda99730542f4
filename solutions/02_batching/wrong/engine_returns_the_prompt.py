"""Each answer begins with its prompt.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         return [self.tokenizer.decode(output) for output in outputs]
+         return [p + self.tokenizer.decode(o) for p, o in zip(prompts, outputs, strict=True)]
""",
}
