"""Emits every guess that is right, also behind a wrong one.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
-     agreed = _common(draft, best)
-     return best[: agreed + 1]
+     return [x if x == y else y for x, y in zip(draft, best, strict=False)] + best[-1:]
""",
}
