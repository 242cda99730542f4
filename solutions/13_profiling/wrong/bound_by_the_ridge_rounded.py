"""The ridge is rounded to whole operations a byte.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-         "bound": "compute" if computing >= moving else "memory",
+         "bound": "compute" if intensity >= round(peak / bandwidth) else "memory",
""",
}
