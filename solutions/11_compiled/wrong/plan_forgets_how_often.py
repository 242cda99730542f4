"""Each kind of step counts once, however often it happens.

Fails: buckets
"""

LINES = {
    "plan_sizes": r"""
-     rows = sorted((int(n), times) for n, times in histogram.items())
+     rows = sorted((int(n), 1) for n in histogram)
""",
}
