"""Rows of padding go to slot 0, position 0.

Fails: graphs
"""

LINES = {
    "GraphRunner.step": r"""
-         padding = [0] * (size - n), [0] * (size - n), [self._cache.slots] * (size - n)
+         padding = [0] * (size - n), [0] * (size - n), [0] * (size - n)
""",
}
