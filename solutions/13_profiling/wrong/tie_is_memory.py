"""A tie is bound by memory.

Fails: roofline
"""

LINES = {
    "roofline": r"""
-         "bound": "compute" if computing >= moving else "memory",
+         "bound": "compute" if computing > moving else "memory",
""",
}
