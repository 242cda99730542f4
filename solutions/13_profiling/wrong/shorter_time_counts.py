"""The shorter of both times is told.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-         "seconds": max(computing, moving),
+         "seconds": min(computing, moving),
""",
}
