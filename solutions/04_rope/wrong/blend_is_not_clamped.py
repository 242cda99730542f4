"""The blend goes on beyond its two bounds.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     keep = ((turns - low) / (high - low)).clamp(0, 1)
+     keep = (turns - low) / (high - low)
""",
}
