"""The last batch bound by memory is told.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-             return batch
+             return batch - 1
""",
}
