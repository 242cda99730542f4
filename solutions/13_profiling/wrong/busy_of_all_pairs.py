"""Each kernel is compared with all before it.

Fails: trace
"""

LINES = {
    "device_busy": r"""
-     for event in events:
+     work = [event for event in events if event.get("cat") in DEVICE]
+     for event in events:
+         for other in work:
+             if other is event:
+                 break
""",
}
