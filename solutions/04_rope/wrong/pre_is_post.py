"""PreRopeCache is PostRopeCache under another name.

From: variants/plain.py
Fails: caches
"""

LINES = {
    "": r"""
- class PreRopeCache:
-     def __init__(self, frequencies: Tensor) -> None:
-         self.frequencies = frequencies
-         self.length = 0
-         self.stored: tuple[Tensor, ...] = ()
-
-     def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
-         self.length += k.shape[2]
-         self.stored = append(self.stored, k, v, positions)
-         keys, values, places = self.stored
-         return rotate(keys, places, self.frequencies), values, places, positions
+ class PreRopeCache(PostRopeCache):
+     pass
""",
}
