"""Counts accepted guesses behind an EOS.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
          ended = before_eos < len(new)
+         kept = _common(guess, new)
...
-         stats["accepted"] += accepted
+         stats["accepted"] += kept
""",
}
