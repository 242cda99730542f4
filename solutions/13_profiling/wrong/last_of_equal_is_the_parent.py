"""Of equal slices the last of the list is the parent.

Fails: trace
"""

LINES = {
    "_tracks": r"""
-     return [sorted(track, key=lambda e: (e["ts"], -e["dur"])) for track in tracks.values()]
+     return [sorted(track[::-1], key=lambda e: (e["ts"], -e["dur"])) for track in tracks.values()]
""",
}
