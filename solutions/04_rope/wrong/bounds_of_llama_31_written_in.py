"""Bounds and context of Llama 3.1 are written in.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
-     turns = plain * scaling["original_max_position_embeddings"] / (2 * math.pi)
+     low, high = 1.0, 4.0
+     turns = plain * 8192 / (2 * math.pi)
""",
}
