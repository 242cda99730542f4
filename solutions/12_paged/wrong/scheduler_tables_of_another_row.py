"""Tables are listed in order of request, rows are not.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
-         tables = [self._blocks.table(request) for request in self._planned]
+         tables = [self._blocks.table(request) for request in sorted(self._planned)]
""",
}
