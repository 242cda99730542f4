"""Row 0's positions serve every row of the batch.

From: variants/plain.py
Fails: rope
"""

LINES = {
    "apply_rope": r"""
-     angles = positions[:, None, :, None] * speeds
+     angles = positions[0, :, None] * speeds
""",
}
