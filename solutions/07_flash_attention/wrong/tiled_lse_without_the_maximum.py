"""lse of the PyTorch version is the logarithm of the running sum alone.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-         lse[:, :, i : i + block] = (top + total.log()).reshape(B, H, len(last))
+         lse[:, :, i : i + block] = total.log().reshape(B, H, len(last))
""",
}
