"""Rows of padding are the last row again, one place further.

Fails: graphs
"""

LINES = {
    "GraphRunner.step": r"""
-         padding = [0] * (size - n), [0] * (size - n), [self._cache.slots] * (size - n)
+         further = min(positions[-1] + 1, self._cache.max_len - 1)
+         padding = [0] * (size - n), [further] * (size - n), [slots[-1]] * (size - n)
""",
}
