"""Draws the token behind all guesses from the row that judged the last guess.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-     return [*draft, _draw(target_probs[len(draft)], generator)]
+     return [*draft, _draw(target_probs[max(len(draft) - 1, 0)], generator)]
""",
}
