"""Each length of a prompt is a shape of its own.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         size, device = bucket(count, self._sizes), self._cache.keys[0].device
+         size, device = count, self._cache.keys[0].device
""",
}
