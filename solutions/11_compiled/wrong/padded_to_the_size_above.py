"""A prompt that fills its size is padded to the next one, if there is one.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         size = min(size for size in self._sizes if size >= count)
+         size = min(size for size in self._sizes if size > count or size == max(self._sizes))
""",
}
