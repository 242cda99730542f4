"""One union is taken over all devices.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-             end, known = event["ts"] + event["dur"], ends[event["pid"]]
+             end, known = event["ts"] + event["dur"], ends[0]
...
-             ends[event["pid"]] = max(end, known)
+             ends[0] = max(end, known)
""",
}
