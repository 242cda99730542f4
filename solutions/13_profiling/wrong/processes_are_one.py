"""Threads of one number are one track, whatever the process.

Fails: trace
"""

LINES = {
    "_tracks": r"""
-             tracks[event["pid"], event["tid"]].append(event)
+             tracks[event["tid"]].append(event)
""",
}
