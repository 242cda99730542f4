"""All caches are one: the tensors belong to the class.

Fails: growing
"""

LINES = {
    "GrowingCache": r"""
+     _kept: dict[str, Tensor] = {}  # noqa: RUF012
+
      def __init__(self) -> None:
""",
    "GrowingCache.__init__": r"""
-         self._keys: Tensor | None = None
-         self._values: Tensor | None = None
+         self._kept.clear()
""",
    "GrowingCache.length": r"""
-         return 0 if self._keys is None else self._keys.shape[2]
+         return self._kept["k"].shape[2] if self._kept else 0
""",
    "GrowingCache.rewind": r"""
-         if self._keys is not None and self._values is not None:
-             left = self.length - n
-             self._keys, self._values = self._keys[:, :, :left], self._values[:, :, :left]
+         left = self.length - n
+         self._kept.update({name: x[:, :, :left] for name, x in self._kept.items()})
""",
}


class GrowingCache:
    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        for name, x in (("k", k), ("v", v)):
            old = self._kept.get(name)
            self._kept[name] = torch.cat([x] if old is None else [old, x], dim=2)
        return self._kept["k"], self._kept["v"]
