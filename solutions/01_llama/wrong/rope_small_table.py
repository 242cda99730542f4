"""Angles come from a table of 1024 positions.

From: variants/plain.py
Fails: rope
"""

LINES = {
    "apply_rope": r"""
-     angles = positions[:, None, :, None] * speeds
+     table = torch.arange(1024, device=x.device)[:, None] * speeds
+     angles = table[positions][:, None]
""",
}
