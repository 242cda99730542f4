"""Prompts are padded to the largest size, the last of an unsorted list.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         size = min(size for size in self._sizes if size >= count)
+         size = self._sizes[-1]
""",
}
