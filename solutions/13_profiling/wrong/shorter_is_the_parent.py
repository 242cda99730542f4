"""Of slices that begin together the shorter is the parent.

Fails: trace
"""

LINES = {
    "_tracks": r"""
-     return [sorted(track, key=lambda e: (e["ts"], -e["dur"])) for track in tracks.values()]
+     return [sorted(track, key=lambda e: (e["ts"], e["dur"])) for track in tracks.values()]
""",
}
