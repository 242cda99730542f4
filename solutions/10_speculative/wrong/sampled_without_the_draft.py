"""Makes no guesses where tokens are drawn.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
          room = min(k, end - len(text) - 1)
+         if temperature > 0:
+             room = 0
""",
}
