"""The kernel's External id is looked up among correlations.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             times[owners.get(_correlation(event), "")] += event["dur"]
+             times[owners.get(event.get("args", {}).get("External id"), "")] += event["dur"]
""",
}
