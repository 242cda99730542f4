"""A request that has ended may come again.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         if request in self._requests:
+         if request in self._queue or request in self.running:
""",
}
