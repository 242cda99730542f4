"""positions are ignored: token t is taken to stand at t.

From: variants/plain.py
Fails: rope
"""

LINES = {
    "apply_rope": r"""
-     angles = positions[:, None, :, None] * speeds
+     angles = torch.arange(x.shape[2], device=x.device)[:, None] * speeds
""",
}
