"""The caller's own queries are scaled before the launch.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
      G, S = k.shape[1:3]
+     q *= D**-0.5 if scale is None else scale
...
-         q, k, v, o, lse, None, None, (D**-0.5 if scale is None else scale) * LOG2_E,
+         q, k, v, o, lse, None, None, LOG2_E,
""",
}
