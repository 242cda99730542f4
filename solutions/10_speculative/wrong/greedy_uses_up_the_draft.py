"""Takes the guesses out of the caller's list.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
      agreed = _common(draft, best)
+     del draft[agreed:]
""",
}
