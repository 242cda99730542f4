"""commit goes through the running requests while it removes those that end.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
-         self._planned = [row[0] for row in rows]
+         self._planned = self.running
""",
    "Scheduler.commit": r"""
-         for request, token in zip(self._planned, tokens, strict=True):
+         for request, token in zip(self._planned, tokens, strict=False):
...
-         self._planned = []
+         self._planned = self.running
""",
}
