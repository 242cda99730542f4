"""B takes half of backward without a W too.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-     split = 1 + any(kind == "W" for kind, _, _ in items)
+     split = 2
""",
}
