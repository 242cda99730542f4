"""An annotation that ends with the launch is not around it.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             around = (name for until, name in reversed(open_) if until >= end)
+             around = (name for until, name in reversed(open_) if until > end)
""",
}
