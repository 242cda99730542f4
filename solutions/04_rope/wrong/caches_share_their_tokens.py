"""The tokens lie on the class: all caches share them.

From: variants/plain.py
Fails: caches, attend
"""

LINES = {
    "PostRopeCache": r"""
  class PostRopeCache:
+     stored: tuple[Tensor, ...] = ()
+
""",
    "PostRopeCache.__init__": r"""
-         self.stored: tuple[Tensor, ...] = ()
""",
    "PostRopeCache.update": r"""
-         self.stored = append(self.stored, k, v, positions)
+         PostRopeCache.stored = append(self.stored, k, v, positions)
""",
}
