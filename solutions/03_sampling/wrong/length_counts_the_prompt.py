"""The length in the score is that of prompt and new tokens.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-                 score = total / length**length_penalty
+                 score = total / (len(prompt) + length) ** length_penalty
""",
}
