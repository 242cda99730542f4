"""Every step is a replay of the largest graph.

Fails: graphs
"""

LINES = {
    "GraphRunner.step": r"""
-         size = bucket(n, self._sizes)
+         size = max(self._sizes)
""",
}
