"""Every position is one too large; relative angles hide it from the model.

From: variants/plain.py
Fails: rope
"""

LINES = {
    "apply_rope": r"""
-     angles = positions[:, None, :, None] * speeds
+     angles = (positions + 1)[:, None, :, None] * speeds
""",
}
