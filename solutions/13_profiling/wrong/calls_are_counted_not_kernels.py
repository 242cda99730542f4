"""Time of the launches is added up instead of that of their kernels.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             owners[_correlation(event)] = next(around, "")
+             owners[next(around, "")] = str(event["dur"])
...
-     for event in events:
-         if event.get("cat") in DEVICE:
-             times[owners.get(_correlation(event), "")] += event["dur"]
+     for name, took in owners.items():
+         times[name or ""] += float(took or 0)
""",
}
