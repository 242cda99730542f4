"""The error of a schedule that never ends does not name it.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-         raise ValueError("the schedule never ends: each stage waits for what another has not done")
+         raise ValueError("deadlock")
""",
}
