"""Annotations on the device are work.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-         if event.get("cat") in DEVICE:
+         if event.get("cat") in (*DEVICE, "gpu_user_annotation"):
""",
}
