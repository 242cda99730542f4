"""A launch brings one kernel.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             times[owners.get(_correlation(event), "")] += event["dur"]
+             times[owners.pop(_correlation(event), "")] += event["dur"]
""",
}
