"""Launches must be called cudaLaunchKernel.

Fails: trace
"""

LINES = {
    "attribute": r"""
-             owners[_correlation(event)] = next(around, "")
+             if event["name"] == "cudaLaunchKernel":
+                 owners[_correlation(event)] = next(around, "")
""",
}
