"""The blend is linear in the wavelength, not in the number of turns.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     keep = ((turns - low) / (high - low)).clamp(0, 1)
+     keep = ((1 / low - 1 / turns) / (1 / low - 1 / high)).clamp(0, 1)
""",
}
