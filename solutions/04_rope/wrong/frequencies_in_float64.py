"""The frequencies come back in float64.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-         return plain.float()
+         return plain
...
-     return (plain * (keep + (1 - keep) / scaling["factor"])).float()
+     return plain * (keep + (1 - keep) / scaling["factor"])
""",
}
