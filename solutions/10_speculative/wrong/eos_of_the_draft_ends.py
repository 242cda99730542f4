"""Ends the text where the draft guesses an EOS, though the target rejects it.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         ended = before_eos < len(new)
+         ended = before_eos < len(new) or any(token in eos_ids for token in guess)
""",
}
