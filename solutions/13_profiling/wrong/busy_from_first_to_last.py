"""Gaps between kernels are busy.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-             busy += max(0.0, end - max(event["ts"], known))
+             busy += max(0.0, end - (known if known > -math.inf else event["ts"]))
""",
}
