"""Where keys are dealt to several programs, their results are rounded before they are joined.

From: variants/split_keys.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
-     kind = q.dtype if splits == 1 else torch.float32
+     kind = q.dtype
""",
}
