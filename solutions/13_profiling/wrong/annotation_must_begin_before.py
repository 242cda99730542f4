"""An annotation that begins with the launch is not around it.

Fails: trace
"""

LINES = {
    "attribute": r"""
-         for event in sorted(track, key=lambda event: (event["ts"], event["cat"] in LAUNCH)):
+         for event in sorted(track, key=lambda event: (event["ts"], event["cat"] not in LAUNCH)):
""",
}
