"""Makes no more than four guesses a round, however large k is.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         room = min(k, end - len(text) - 1)
+         room = min(k, 4, end - len(text) - 1)
""",
}
