"""Kernels of a graph launch are left out.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             times[owners.get(_correlation(event), "")] += event["dur"]
+             if "Graph" not in str(owners.get(("call", _correlation(event)))):
+                 times[owners.get(_correlation(event), "")] += event["dur"]
...
-             owners[_correlation(event)] = next(around, "")
+             owners[_correlation(event)] = next(around, "")
+             owners["call", _correlation(event)] = event["name"]
""",
}
