"""Guesses the draft's best token, and says that it was drawn.

Fails: generate
"""

LINES = {
    "_guess": r"""
-             guess.append(_draw(chances[-1], generator))
+             guess.append(int(chances[-1].argmax()))
""",
}
