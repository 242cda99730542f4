"""Launches are known by a list of names, which newer ones are not on.

Kind: launches
Report: https://github.com/facebookresearch/HolisticTraceAnalysis/pull/271
Fails: trace
"""

LINES = {
    "attribute": r"""
-             owners[_correlation(event)] = next(around, "")
+             if event["name"] in ("cudaLaunchKernel", "cuLaunchKernel", "cudaMemcpyAsync"):
+                 owners[_correlation(event)] = next(around, "")
""",
}
