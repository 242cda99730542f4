"""Takes for granted that D is a multiple of 4.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     plain = theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
+     plain = theta ** (-torch.arange(0, dim // 4 * 4, 2, dtype=torch.float64) / dim)
""",
}
