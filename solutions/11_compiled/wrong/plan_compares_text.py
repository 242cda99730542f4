"""Rows are sorted as text: 10 comes before 2.

Fails: buckets
"""

LINES = {
    "plan_sizes": r"""
-     rows = sorted((int(n), times) for n, times in histogram.items())
+     rows = [(int(n), times) for n, times in sorted(histogram.items())]
""",
}
