"""Tiles have 128 keys where 64 are asked for, or block is left out.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
  ) -> tuple[Tensor, Tensor]:
+     block = 128 if block == 64 else block
""",
}
