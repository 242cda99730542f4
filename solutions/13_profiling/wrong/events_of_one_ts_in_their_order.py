"""A launch that stands ahead of its annotation is outside.

Fails: trace
"""

LINES = {
    "attribute": r"""
-         for event in sorted(track, key=lambda event: (event["ts"], event["cat"] in LAUNCH)):
+         for event in sorted(track, key=events.index):
""",
}
