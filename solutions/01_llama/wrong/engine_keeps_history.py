"""Prompts of earlier calls stay in front of the next one.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-         new: list[int] = []
+         self.history = [*getattr(self, "history", []), *prompt]
+         prompt, new = self.history, []
""",
}
