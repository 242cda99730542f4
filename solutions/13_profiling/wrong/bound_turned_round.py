"""The shorter time gives the bound.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-         "bound": "compute" if computing >= moving else "memory",
+         "bound": "compute" if computing <= moving else "memory",
""",
}
