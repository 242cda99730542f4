"""Tiles have 128 keys if block is left out.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-     q: Tensor, k: Tensor, v: Tensor, causal: bool = False, block: int = 64
+     q: Tensor, k: Tensor, v: Tensor, causal: bool = False, block: int = 128
""",
}
