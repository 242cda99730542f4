"""Positions start again at 4096, the length of a table.

From: variants/plain.py
Fails: rotate, caches, attend
"""

LINES = {
    "rotate": r"""
-     angles = positions[:, None, :, None].float() * frequencies.float()
+     angles = (positions % 4096)[:, None, :, None].float() * frequencies.float()
""",
}
