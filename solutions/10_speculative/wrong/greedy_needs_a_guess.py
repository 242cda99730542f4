"""Looks at the first guess without asking whether there is one.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
-     agreed = _common(draft, best)
+     agreed = 0 if draft[0] != best[0] else _common(draft, best)
""",
}
