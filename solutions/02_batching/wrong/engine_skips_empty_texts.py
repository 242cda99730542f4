"""An empty text gets an empty answer, and the model does not see it.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         return [self.tokenizer.decode(output) for output in outputs]
+         answers = [self.tokenizer.decode(output) for output in outputs]
+         return [answer if text else "" for text, answer in zip(prompts, answers, strict=True)]
""",
}
