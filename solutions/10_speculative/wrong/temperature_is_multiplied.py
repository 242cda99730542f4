"""Multiplies logits by the temperature.

Fails: generate
"""

LINES = {
    "_chances": r"""
-     return (logits.float() / temperature).softmax(-1)
+     return (logits.float() * temperature).softmax(-1)
""",
}
