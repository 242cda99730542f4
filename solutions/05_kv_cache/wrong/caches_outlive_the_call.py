"""Keeps the caches for the next sequence.

Fails: generate
"""

LINES = {
    "": r"""
+ CACHES: list[Cache] = []
+
+
  class GrowingCache:
""",
    "generate": r"""
-     caches = [make_cache() for _ in range(model.num_layers)]
+     if len(CACHES) != model.num_layers:
+         CACHES[:] = [make_cache() for _ in range(model.num_layers)]
+     caches = CACHES
""",
}
