"""What is read of the caller's scaling is taken out of it.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
+     low, high = scaling.pop("low_freq_factor"), scaling.pop("high_freq_factor")
""",
}
