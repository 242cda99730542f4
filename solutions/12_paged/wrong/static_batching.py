"""Nobody is admitted while anybody runs.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
-         if not preempted:
+         if not preempted and not self.running:
""",
}
