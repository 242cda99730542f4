"""Work at ts 0 is taken for broken.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-         if event.get("cat") in DEVICE:
+         if event.get("cat") in DEVICE and event["ts"]:
""",
}
