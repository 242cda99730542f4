"""Work launched outside of all annotations is left out.

Fails: trace
"""

LINES = {
    "attribute": r"""
-     return dict(times)
+     times.pop("", None)
+     return dict(times)
""",
}
