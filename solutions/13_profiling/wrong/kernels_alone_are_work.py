"""Copies and fills are left out.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-         if event.get("cat") in DEVICE:
+         if event.get("cat") == "kernel":
""",
}
