"""Events are taken from the list.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-     for event in events:
+     while events:
+         event = events.pop(0)
""",
}
