"""exp is taken of the scores themselves: it overflows near 100 and vanishes near -100.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-             new = torch.maximum(top, scores.amax(-1, keepdim=True))
+             new = torch.zeros_like(top)
""",
}
