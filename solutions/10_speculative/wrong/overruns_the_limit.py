"""Returns all tokens of the last round, also beyond max_new_tokens.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         room = min(k, end - len(text) - 1)
+         room = k
""",
}
