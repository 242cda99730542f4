"""A chunk takes as long as its whole stage.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-     times = {"F": forward / count, "B": backward / count / split, "W": backward / count / split}
+     times = {"F": forward, "B": backward / split, "W": backward / split}
""",
}
