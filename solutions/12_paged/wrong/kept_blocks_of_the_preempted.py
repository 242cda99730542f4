"""Who is sent back keeps its first block for later.

Fails: scheduler
"""

LINES = {
    "Scheduler._make_room": r"""
-             self._blocks.release(last)
+             kept = self._blocks._sequences[last].table[0]
+             self._blocks._holders[kept] += len(self._blocks._sequences) > 1
+             self._blocks.release(last)
""",
}
