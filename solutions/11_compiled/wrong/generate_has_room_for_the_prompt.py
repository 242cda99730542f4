"""The cache of generate is as long as the largest size.

Fails: prefill
"""

LINES = {
    "generate": r"""
-     cache = StaticCache(model.config, 1, max_len, weight.dtype, device)
+     cache = StaticCache(model.config, 1, max(sizes), weight.dtype, device)
""",
}
