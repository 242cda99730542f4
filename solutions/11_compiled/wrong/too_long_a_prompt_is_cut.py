"""Of a prompt above the largest size the end is read.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
          count = len(tokens)
-         if not 0 < count <= min(max(self._sizes), self._cache.max_len):
+         if count > max(self._sizes):
+             tokens = tokens[-max(self._sizes) :]
+             count = len(tokens)
+         if not count:
""",
}
