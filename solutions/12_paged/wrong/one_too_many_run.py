"""One request more than max_running runs.

Fails: scheduler
"""

LINES = {
    "Scheduler._admit": r"""
-         while self._queue and len(self.running) < self.max_running:
+         while self._queue and len(self.running) <= self.max_running:
""",
}
