"""Busy time is told in milliseconds.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-     return busy
+     return busy / 1000
""",
}
