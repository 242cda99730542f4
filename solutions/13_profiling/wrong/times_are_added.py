"""Computing and moving are taken to wait for each other.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-         "seconds": max(computing, moving),
+         "seconds": computing + moving,
""",
}
