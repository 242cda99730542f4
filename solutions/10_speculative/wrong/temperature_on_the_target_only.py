"""Draws guesses at temperature 1.

Fails: generate
"""

LINES = {
    "_guess": r"""
-             chances.append(_chances(logits, temperature))
+             chances.append(_chances(logits, 1.0))
""",
}
