"""Takes its own token from the last row even after a wrong guess.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
-     return best[: agreed + 1]
+     return [*draft[:agreed], best[-1]]
""",
}
