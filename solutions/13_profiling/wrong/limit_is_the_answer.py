"""Beyond the limit the limit comes back.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-     return None
+     return limit
""",
}
