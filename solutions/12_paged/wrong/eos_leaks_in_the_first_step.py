"""Who ends in its first step keeps its blocks.

Fails: scheduler
"""

LINES = {
    "Scheduler.commit": r"""
-                 self._blocks.release(request)
+                 if state.output:
+                     self._blocks.release(request)
""",
}
