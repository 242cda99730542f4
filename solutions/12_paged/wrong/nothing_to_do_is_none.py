"""With nothing to do there is no plan.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
-         self._planned = [row[0] for row in rows]
+         self._planned = [row[0] for row in rows]
+         if not rows:
+             return None
""",
}
