"""Kernels are marked with their owners.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             times[owners.get(_correlation(event), "")] += event["dur"]
+             times[owners.get(_correlation(event), "")] += event["dur"]
+             event["owner"] = owners.get(_correlation(event), "")
""",
}
