"""rewind drops whole chunks.

Fails: growing
"""

LINES = {
    "GrowingCache.__init__": r"""
-         self._keys: Tensor | None = None
-         self._values: Tensor | None = None
+         self._chunks: list[tuple[Tensor, Tensor]] = []
""",
    "GrowingCache.length": r"""
-         return 0 if self._keys is None else self._keys.shape[2]
+         return sum(k.shape[2] for k, _ in self._chunks)
""",
    "GrowingCache.rewind": r"""
-         if self._keys is not None and self._values is not None:
-             left = self.length - n
-             self._keys, self._values = self._keys[:, :, :left], self._values[:, :, :left]
+         while n > 0:
+             n -= self._chunks.pop()[0].shape[2]
""",
}


class GrowingCache:
    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self._chunks.append((k.clone(), v.clone()))
        keys, values = zip(*self._chunks, strict=True)
        return torch.cat(keys, dim=2), torch.cat(values, dim=2)
