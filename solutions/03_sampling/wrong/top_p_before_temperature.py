"""Filters are applied from the last to the first.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         for filter_ in self.filters:
+         for filter_ in reversed(self.filters):
""",
}
