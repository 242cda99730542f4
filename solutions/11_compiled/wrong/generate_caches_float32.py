"""The cache of generate is float32, whatever the model is.

Fails: prefill
"""

LINES = {
    "generate": r"""
-     cache = StaticCache(model.config, 1, max_len, weight.dtype, device)
+     cache = StaticCache(model.config, 1, max_len, device=device)
""",
}
