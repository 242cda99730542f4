"""EOS does not count in the length of the score.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-                 score = total / length**length_penalty
+                 size = max(1, length - (token == eos_id))
+                 score = total / size**length_penalty
""",
}
