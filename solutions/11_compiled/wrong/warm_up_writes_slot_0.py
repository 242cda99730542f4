"""A warm-up step runs on slot 0 before the capture.

Fails: graphs
"""

LINES = {
    "GraphRunner._capture": r"""
-         inputs[2] = self._cache.slots  # scratch: warm-up and padding write there alone
+         decode_step(self._model, self._cache, *inputs)
""",
}
