"""A prefill empties the whole cache first.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
          size, device = bucket(count, self._sizes), self._cache.keys[0].device
+         for memory in (*self._cache.keys, *self._cache.values):
+             memory.zero_()
""",
}
