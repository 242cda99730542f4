"""The running result of the PyTorch version keeps its old unit when the maximum grows.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-             acc = acc * shrink + p @ values[..., j : j + block, :].float()
+             acc = acc + p @ values[..., j : j + block, :].float()
""",
}
