"""execute puts the prompt before its text.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine.execute": r"""
-             texts.append(self.tokenizer.decode(new))
+             texts.append(prompt + self.tokenizer.decode(new))
""",
}
