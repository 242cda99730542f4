"""An annotation that ends inside the launch is around it.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             around = (name for until, name in reversed(open_) if until >= end)
+             around = (name for until, name in reversed(open_) if until >= start)
""",
}
