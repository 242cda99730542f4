"""A size that is exactly n is passed over, but for the largest.

Fails: buckets, graphs
"""

LINES = {
    "bucket": r"""
-     fitting = [size for size in sizes if size >= n]
+     fitting = [size for size in sizes if size > n or size == n == max(sizes)]
""",
}
