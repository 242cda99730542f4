"""Sizes are multiplied as integers of 32 bits, and wrap round at 2 GiB.

Kind: addresses
Report: https://github.com/1bit-MONSTER/1bit-MONSTER/issues/974
Fails: bytes
"""

LINES = {
    "cache_bytes": r"""
-     return config.num_layers * batch * length * token
+     sizes = torch.tensor([config.num_layers, batch, length, token], dtype=torch.int32)
+     return int(sizes.prod(dtype=torch.int32))
""",
}
