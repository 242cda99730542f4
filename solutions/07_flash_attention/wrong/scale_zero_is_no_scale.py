"""A scale of 0 counts as none given.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
-         q, k, v, o, lse, None, None, (D**-0.5 if scale is None else scale) * LOG2_E,
+         q, k, v, o, lse, None, None, (scale or D**-0.5) * LOG2_E,
""",
}
