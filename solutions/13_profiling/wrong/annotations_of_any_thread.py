"""An annotation of any thread is around a launch.

Fails: trace
"""

LINES = {
    "attribute": r"""
-     for track in _tracks(events, ("user_annotation", *LAUNCH)):
+     one = [event | {"tid": 0} for event in events]
+     for track in _tracks(one, ("user_annotation", *LAUNCH)):
""",
}
