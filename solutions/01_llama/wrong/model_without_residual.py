"""Attention replaces the residual stream instead of adding to it.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama.forward": r"""
-             x = x + self._attend(i, y, positions)
+             x = self._attend(i, y, positions)
""",
}
