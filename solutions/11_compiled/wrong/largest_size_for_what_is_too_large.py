"""n above all sizes gets the largest.

Fails: buckets
"""

LINES = {
    "bucket": r"""
-     if not fitting:
-         raise ValueError(f"n {n} is more than any of {sizes}")
-     return min(fitting)
+     return min(fitting, default=max(sizes))
""",
}
