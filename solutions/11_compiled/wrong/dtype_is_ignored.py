"""The memory is float32, whatever was asked for.

Fails: cache, step, prefill
"""

LINES = {
    "StaticCache.__init__": r"""
-             [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.num_layers)]
+             [torch.zeros(shape, device=device) for _ in range(config.num_layers)]
""",
}
