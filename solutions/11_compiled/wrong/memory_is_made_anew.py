"""Each update makes new memory and hands it to the cache.

Fails: cache, step, prefill, graphs
"""

LINES = {
    "_Rows.__init__": r"""
-     def __init__(self, keys: Tensor, values: Tensor, positions: Tensor, slots: Tensor) -> None:
+     def __init__(self, cache: Any, index: int, positions: Tensor, slots: Tensor) -> None:
-         self._keys = keys
-         self._values = values
+         self._cache = cache
+         self._index = index
""",
    "_Rows.update": r"""
-         self._keys[rows, :, self._positions] = k.transpose(1, 2)
-         self._values[rows, :, self._positions] = v.transpose(1, 2)
-         return self._keys[self._slots], self._values[self._slots]
+         keys = self._cache.keys[self._index].clone()
+         values = self._cache.values[self._index].clone()
+         keys[rows, :, self._positions] = k.transpose(1, 2)
+         values[rows, :, self._positions] = v.transpose(1, 2)
+         self._cache.keys[self._index] = keys
+         self._cache.values[self._index] = values
+         return keys[self._slots], values[self._slots]
""",
    "StaticCache.layers": r"""
-         pairs = zip(self.keys, self.values, strict=True)
-         return [_Rows(keys, values, positions, slots) for keys, values in pairs]
+         return [_Rows(self, index, positions, slots) for index in range(len(self.keys))]
""",
}
