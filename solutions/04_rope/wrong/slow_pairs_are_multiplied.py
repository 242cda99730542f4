"""Slow pairs are multiplied by the factor, which makes them faster.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     return (plain * (keep + (1 - keep) / scaling["factor"])).float()
+     return (plain * (keep + (1 - keep) * scaling["factor"])).float()
""",
}
