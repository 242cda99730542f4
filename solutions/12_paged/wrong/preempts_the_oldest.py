"""The request that was admitted first is sent back.

Fails: scheduler
"""

LINES = {
    "Scheduler._make_room": r"""
-             last = self.running.pop()
+             last = self.running.pop(0)
""",
}
