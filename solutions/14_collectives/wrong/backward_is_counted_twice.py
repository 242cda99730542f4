"""B takes all of backward, and W as much again.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-     times = {"F": forward / count, "B": backward / count / split, "W": backward / count / split}
+     times = {"F": forward / count, "B": backward / count, "W": backward / count}
""",
}
