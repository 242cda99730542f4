"""Counts guesses that were accepted, and cut off at the limit.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         room = min(k, end - len(text) - 1)
+         room = k
...
          ended = before_eos < len(new)
-         new = new[:before_eos]
-         accepted = _common(guess, new)
+         new = new[:before_eos]
+         agreed = _common(guess, new)
+         new = new[: end - len(text)]
+         accepted = _common(guess, new)
...
-         stats["accepted"] += accepted
+         stats["accepted"] += agreed
""",
}
