"""Sorts the caller's texts by length; the answers are in the order that they had.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         encoded = [self.tokenizer.encode(prompt) for prompt in prompts]
+         order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
+         prompts[:] = [prompts[i] for i in order]
+         encoded = [self.tokenizer.encode(prompt) for prompt in prompts]
...
-         return [self.tokenizer.decode(output) for output in outputs]
+         answers = [self.tokenizer.decode(output) for output in outputs]
+         return [answers[order.index(i)] for i in range(len(answers))]
""",
}
