"""Threads of a process are one track.

Fails: trace
"""

LINES = {
    "_tracks": r"""
-             tracks[event["pid"], event["tid"]].append(event)
+             tracks[event["pid"]].append(event)
""",
}
