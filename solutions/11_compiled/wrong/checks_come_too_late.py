"""What does not fit is refused after the replay.

Fails: graphs
"""

LINES = {
    "GraphRunner.step": r"""
-         self._check(tokens, positions, slots)
-         size = bucket(n, self._sizes)
+         size = bucket(n, self._sizes) if 0 < n <= max(self._sizes) else self._sizes[0]
...
-         given = zip((tokens, positions, slots), padding, strict=True)
-         inputs.copy_(torch.tensor([[*some, *more] for some, more in given]))
-         graph.replay()
+         given = zip((tokens, positions, slots), padding, strict=True)
+         full = [[*some, *more, 0][:size] for some, more in given]
+         if all(len(row) == size for row in full):
+             limits = self._cache.max_len - 1, self._cache.slots
+             inputs.copy_(torch.tensor(full))
+             inputs[1].clamp_(0, limits[0])
+             inputs[2].clamp_(0, limits[1])
+             graph.replay()
+         self._check(tokens, positions, slots)
""",
}
