"""Compares guess i with the target's token behind it.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
-     agreed = _common(draft, best)
+     agreed = _common(draft, best[1:])
""",
}
