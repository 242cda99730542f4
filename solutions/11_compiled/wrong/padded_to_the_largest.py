"""Prompts are padded to the largest size, the last of an unsorted list.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         size, device = bucket(count, self._sizes), self._cache.keys[0].device
+         size, device = self._sizes[-1], self._cache.keys[0].device
""",
}
