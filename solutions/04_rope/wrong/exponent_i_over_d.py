"""The exponent is i/D, half of what it should be.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     plain = theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
+     plain = theta ** (-torch.arange(dim // 2, dtype=torch.float64) / dim)
""",
}
