"""A request that is sent back waits behind all others.

Fails: scheduler
"""

LINES = {
    "Scheduler._make_room": r"""
-             self._queue.appendleft(last)
+             self._queue.append(last)
""",
}
