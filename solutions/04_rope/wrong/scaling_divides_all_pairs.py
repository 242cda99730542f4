"""All pairs are divided by the factor, as position interpolation does.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     return (plain * (keep + (1 - keep) / scaling["factor"])).float()
+     return (plain + 0 * keep).float() / scaling["factor"]
""",
}
