"""Kernels of a graph are left out: their launch is none of a kernel.

Kind: launches
Report: https://github.com/facebookresearch/HolisticTraceAnalysis/issues/290
Fails: trace
"""

LINES = {
    "attribute": r"""
-             owners[_correlation(event)] = next(around, "")
+             if "Graph" not in event["name"]:
+                 owners[_correlation(event)] = next(around, "")
""",
}
