"""Angles are computed in the input's dtype.

From: variants/plain.py
Fails: rope
"""

LINES = {
    "apply_rope": r"""
-     angles = positions[:, None, :, None] * speeds
+     angles = positions[:, None, :, None].to(x.dtype) * speeds.to(x.dtype)
""",
}
