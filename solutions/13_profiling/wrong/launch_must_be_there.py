"""Kernels without a launch break the attribution.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             times[owners.get(_correlation(event), "")] += event["dur"]
+             times[owners[_correlation(event)]] += event["dur"]
""",
}
