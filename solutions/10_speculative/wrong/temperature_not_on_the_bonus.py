"""Draws the token behind all guesses at temperature 1.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
              probs = _chances(logits, temperature)
+             probs[-1] = _chances(logits[-1], 1.0)
""",
}
