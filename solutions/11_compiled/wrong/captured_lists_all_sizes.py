"""captured lists each size twice.

Fails: graphs
"""

LINES = {
    "GraphRunner.captured": r"""
-         return [*self._graphs]
+         return [*self._graphs, *self._sizes]
""",
}
