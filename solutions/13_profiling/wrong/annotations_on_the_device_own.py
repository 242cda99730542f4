"""Annotations on the device own kernels.

Fails: trace
"""

LINES = {
    "attribute": r"""
-     for track in _tracks(events, ("user_annotation", *LAUNCH)):
+     for track in _tracks(events, ("user_annotation", "gpu_user_annotation", *LAUNCH)):
""",
}
