"""Of equal slices the first by name is the parent.

Fails: trace
"""

LINES = {
    "_tracks": r"""
-     return [sorted(track, key=lambda e: (e["ts"], -e["dur"])) for track in tracks.values()]
+     return [sorted(track, key=lambda e: (e["ts"], -e["dur"], e["name"])) for track in tracks.values()]
""",
}
