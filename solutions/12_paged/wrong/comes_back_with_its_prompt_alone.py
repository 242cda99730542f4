"""Who was sent back computes its prompt alone when it returns.

Fails: scheduler
"""

LINES = {
    "Scheduler._admit": r"""
-             tokens = self._requests[self._queue[0]].tokens
+             tokens = self._requests[self._queue[0]].prompt
""",
}
