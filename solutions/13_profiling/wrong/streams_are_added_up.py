"""Each stream has a union of its own.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-             end, known = event["ts"] + event["dur"], ends[event["pid"]]
+             end, known = event["ts"] + event["dur"], ends[event["pid"], event["tid"]]
...
-             ends[event["pid"]] = max(end, known)
+             ends[event["pid"], event["tid"]] = max(end, known)
""",
}
