"""Says that the cache is full, but not what is too small.

Fails: static
"""

LINES = {
    "StaticCache.update": r"""
-             raise ValueError(f"max_len is {max_len}, too small for {end} tokens")
+             raise ValueError(f"there is no room for {k.shape[2]} more tokens")
""",
}
