"""A prefill empties the whole cache first.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
          device = self._cache.keys[0].device
+         for memory in (*self._cache.keys, *self._cache.values):
+             memory.zero_()
""",
}
