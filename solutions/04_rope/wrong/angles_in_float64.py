"""Angles are products in float64, as no model was trained.

From: variants/plain.py
Fails: rotate, caches, attend
"""

LINES = {
    "rotate": r"""
-     angles = positions[:, None, :, None].float() * frequencies.float()
+     angles = (positions[:, None, :, None].double() * frequencies.double())
...
-     cos, sin = angles.cos(), angles.sin()
+     cos, sin = angles.cos().float(), angles.sin().float()
""",
}
