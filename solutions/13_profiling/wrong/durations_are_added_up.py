"""Durations are added up over streams.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-             busy += max(0.0, end - max(event["ts"], known))
+             busy += event["dur"]
""",
}
