"""A slot of -1 is taken for scratch.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         if not 0 <= slot < self._cache.slots:
+         if not slot < self._cache.slots:
""",
}
