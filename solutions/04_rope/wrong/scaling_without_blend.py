"""Pairs between the two bounds are divided like slow ones.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     keep = ((turns - low) / (high - low)).clamp(0, 1)
+     keep = (turns > high).double() + 0 * low
""",
}
