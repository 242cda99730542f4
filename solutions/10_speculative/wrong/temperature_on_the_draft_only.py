"""Judges guesses at temperature 1.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-             probs = _chances(logits, temperature)
+             probs = _chances(logits, 1.0)
""",
}
