"""Whatever has gpu or kernel in its cat is work.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-         if event.get("cat") in DEVICE:
+         if any(word in event.get("cat", "").lower() for word in ("gpu", "kernel")):
""",
}
