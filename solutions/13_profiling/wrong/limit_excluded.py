"""The limit itself is not looked at.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-     for batch in range(1, limit + 1):
+     for batch in range(1, limit):
""",
}
