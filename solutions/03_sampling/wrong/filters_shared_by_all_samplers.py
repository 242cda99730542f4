"""The filters are kept by the class: a second sampler adds to those of the first.

Fails: sampler
"""

LINES = {
    "Sampler": r"""
+     filters = []  # noqa: RUF012
+
      def __init__(self, *filters: Filter, greedy: bool = False) -> None:
""",
    "Sampler.__init__": r"""
-         self.filters = filters
+         self.filters += filters
""",
}
