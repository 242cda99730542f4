"""Looks into the model's config for its number of layers.

Fails: generate
"""

LINES = {
    "generate": r"""
-     caches = [make_cache() for _ in range(model.num_layers)]
+     caches = [make_cache() for _ in range(model.config.num_layers)]
""",
}
