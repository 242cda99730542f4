"""The roof has no slope.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-         "attainable": min(peak, intensity * bandwidth),
+         "attainable": peak,
""",
}
