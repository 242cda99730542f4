"""All layers share one cache.

Fails: generate
"""

LINES = {
    "generate": r"""
-     caches = [make_cache() for _ in range(model.num_layers)]
+     caches = [make_cache()] * model.num_layers
""",
}
