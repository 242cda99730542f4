"""The roof has no peak.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-         "attainable": min(peak, intensity * bandwidth),
+         "attainable": intensity * bandwidth,
""",
}
