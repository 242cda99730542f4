"""All layers share one block of keys and one of values.

Fails: cache, step, prefill, graphs
"""

LINES = {
    "StaticCache.__init__": r"""
-             [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.num_layers)]
+             [torch.zeros(shape, dtype=dtype, device=device)] * config.num_layers
""",
}
