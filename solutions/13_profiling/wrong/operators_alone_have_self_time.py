"""Annotations are no slices.

Fails: trace
"""

LINES = {
    "self_times": r"""
-     for track in _tracks(events, ("cpu_op", "user_annotation")):
+     for track in _tracks(events, ("cpu_op",)):
""",
}
