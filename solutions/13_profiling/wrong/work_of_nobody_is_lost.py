"""Work without a launch is left out.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             times[owners.get(_correlation(event), "")] += event["dur"]
+             if _correlation(event) in owners:
+                 times[owners[_correlation(event)]] += event["dur"]
""",
}
