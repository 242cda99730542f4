"""Every second layer gets the cache of the one before it.

Fails: generate
"""

LINES = {
    "generate": r"""
-     caches = [make_cache() for _ in range(model.num_layers)]
+     caches = [make_cache() for _ in range((model.num_layers + 1) // 2)]
+     caches = [caches[i // 2] for i in range(model.num_layers)]
""",
}
