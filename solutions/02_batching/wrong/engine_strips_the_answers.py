"""White space at the ends of an answer is cut off.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         return [self.tokenizer.decode(output) for output in outputs]
+         return [self.tokenizer.decode(output).strip() for output in outputs]
""",
}
