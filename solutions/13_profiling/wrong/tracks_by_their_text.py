"""The thread 1 and the thread '1' are one.

Fails: trace
"""

LINES = {
    "_tracks": r"""
-             tracks[event["pid"], event["tid"]].append(event)
+             tracks[str(event["pid"]), str(event["tid"])].append(event)
""",
}
