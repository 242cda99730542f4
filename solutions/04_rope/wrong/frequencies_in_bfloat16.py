"""Frequencies are rounded to bfloat16 on their way.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     plain = theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
+     plain = theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
+     plain = plain.bfloat16().double()
""",
}
