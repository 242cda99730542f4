"""Memory is taken as it comes.

Fails: cache, step, prefill, graphs
"""

LINES = {
    "StaticCache.__init__": r"""
-             [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.num_layers)]
+             [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.num_layers)]
""",
}
