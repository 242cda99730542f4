"""Each length of a prompt is a shape of its own.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         size = min(size for size in self._sizes if size >= count)
+         size = count
""",
}
