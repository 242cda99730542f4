"""bfloat16 queries and keys are multiplied as they are: a score has 8 bits.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-             scores = rows @ keys[..., j : j + block, :].float().mT
+             scores = (
+                 (rows.to(torch.bfloat16) @ keys[..., j : j + block, :].mT).float()
+                 if k.dtype == torch.bfloat16
+                 else rows @ keys[..., j : j + block, :].float().mT
+             )
""",
}
