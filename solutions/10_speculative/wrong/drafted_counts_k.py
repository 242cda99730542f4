"""Counts k guesses a round, also where fewer were made.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         stats["drafted"] += len(guess)
+         stats["drafted"] += k
""",
}
