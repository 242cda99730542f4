"""Angles are computed in the dtype of x: float16 or bfloat16.

From: variants/plain.py
Fails: rotate, caches, attend, sink
"""

LINES = {
    "rotate": r"""
-     angles = positions[:, None, :, None].float() * frequencies.float()
-     cos, sin = angles.cos(), angles.sin()
+     angles = positions[:, None, :, None].to(x.dtype) * frequencies.to(x.dtype)
+     cos, sin = angles.cos().float(), angles.sin().float()
""",
}
