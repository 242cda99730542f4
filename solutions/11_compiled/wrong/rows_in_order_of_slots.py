"""update returns rows in the order in which they lie in memory.

Fails: cache, step, prefill, graphs
"""

LINES = {
    "_Rows.update": r"""
-         return self._keys[self._slots], self._values[self._slots]
+         order = self._slots.sort().values
+         return self._keys[order], self._values[order]
""",
}
