"""Strips what the tokenizer puts in front of a text.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-         encoded = [self.tokenizer.encode(prompt) for prompt in prompts]
+         encoded = [self.tokenizer.encode(prompt)[1:] for prompt in prompts]
""",
}
