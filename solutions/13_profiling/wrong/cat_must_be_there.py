"""Events without cat break the busy time.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-         if event.get("cat") in DEVICE:
+         if event["cat"] in DEVICE:
""",
}
