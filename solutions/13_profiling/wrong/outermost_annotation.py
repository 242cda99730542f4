"""The outermost annotation has it.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             around = (name for until, name in reversed(open_) if until >= end)
+             around = (name for until, name in open_ if until >= end)
""",
}
