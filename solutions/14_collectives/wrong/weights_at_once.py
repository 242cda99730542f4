"""The weights' gradient follows its B at once: nothing fills the bubble.

Fails: schedules
"""

LINES = {
    "zero_bubble": r"""
-             if late > stage:
+             if late:
""",
}
