"""Of slices that begin together the first of the list is the parent.

Fails: trace
"""

LINES = {
    "_tracks": r"""
-     return [sorted(track, key=lambda e: (e["ts"], -e["dur"])) for track in tracks.values()]
+     return list(tracks.values())
""",
}
