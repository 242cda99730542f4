"""Operators own kernels.

Fails: trace
"""

LINES = {
    "attribute": r"""
-     for track in _tracks(events, ("user_annotation", *LAUNCH)):
+     for track in _tracks(events, ("user_annotation", "cpu_op", *LAUNCH)):
""",
}
