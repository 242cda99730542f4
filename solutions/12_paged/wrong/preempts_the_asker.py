"""Whoever lacks a block is sent back itself.

Fails: scheduler
"""

LINES = {
    "Scheduler._make_room": r"""
-             last = self.running.pop()
+             last = request
+             self.running.remove(last)
""",
}
