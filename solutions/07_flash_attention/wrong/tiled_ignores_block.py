"""Tiles have 64 keys, whatever block says.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
  ) -> tuple[Tensor, Tensor]:
+     block = 64
""",
}
