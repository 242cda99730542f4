"""The positions of row 0 serve all rows.

From: variants/plain.py
Fails: rotate, caches, attend
"""

LINES = {
    "rotate": r"""
-     angles = positions[:, None, :, None].float() * frequencies.float()
+     angles = positions[:1, None, :, None].float() * frequencies.float()
""",
}
