"""Emits nothing behind the guesses when all are right.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
-     return best[: agreed + 1]
+     return best[: max(1, min(agreed + 1, len(draft)))]
""",
}
