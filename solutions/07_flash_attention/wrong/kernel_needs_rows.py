"""A grid of no programs is launched where B or T is 0.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
-     if o.numel() == 0:
-         return o, lse
+     o.amax()
""",
}
