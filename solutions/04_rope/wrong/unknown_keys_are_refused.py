"""A scaling with a key that is not one of the five is an error.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
      low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
+     assert len(scaling) <= 5
""",
}
