"""Draws from the target alone, whatever the guesses.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
+     draft = draft[:0]
      for i, token in enumerate(draft):
""",
}
