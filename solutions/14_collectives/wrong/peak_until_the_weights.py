"""peak counts forwards until their W, where there is one.

Fails: schedules
"""

LINES = {
    "_peak": r"""
-         held += {"F": 1, "B": -1}.get(kind, 0)
+         last = "W" if any(item[0] == "W" for item in order) else "B"
+         held += {"F": 1, last: -1}.get(kind, 0)
""",
}
