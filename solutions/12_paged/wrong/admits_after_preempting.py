"""A step that sends somebody back admits others.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
-         if not preempted:
-             self._admit(rows)
+         self._admit(rows)
""",
}
