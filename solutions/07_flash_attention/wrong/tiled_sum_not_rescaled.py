"""The running sum of the PyTorch version keeps its old unit when the maximum grows.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-             total = total * shrink + p.sum(-1, keepdim=True)
+             total = total + p.sum(-1, keepdim=True)
""",
}
