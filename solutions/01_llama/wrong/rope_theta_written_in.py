"""theta is always 10000.

From: variants/plain.py
Fails: rope, model
"""

LINES = {
    "apply_rope": r"""
-     speeds = theta ** -(torch.arange(half, device=x.device).float() / half)
+     speeds = 10000.0 ** -(torch.arange(half, device=x.device).float() / half)
""",
}
