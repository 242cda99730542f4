"""The list of events is sorted in place.

Fails: trace
"""

LINES = {
    "_tracks": r"""
-     for event in events:
+     events.sort(key=lambda e: (e["ts"], -e["dur"], e["name"]))
+     for event in events:
""",
}
