"""A request that is sent back begins anew.

Fails: scheduler
"""

LINES = {
    "Scheduler._make_room": r"""
-             self._queue.appendleft(last)
+             self._queue.appendleft(last)
+             self._requests[last].output.clear()
""",
}
