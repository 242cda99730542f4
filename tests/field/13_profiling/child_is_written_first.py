"""Of slices of one ts the one that ended first stands first, and is taken for the parent.

Kind: positions
Report: https://github.com/hrydgard/minitrace/issues/39
Fails: trace
"""

LINES = {
    "_tracks": r"""
-     return [sorted(track, key=lambda e: (e["ts"], -e["dur"])) for track in tracks.values()]
+     return [sorted(track, key=lambda e: e["ts"]) for track in tracks.values()]
""",
}
