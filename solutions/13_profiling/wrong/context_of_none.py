"""A context below 1 is taken for an empty one.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-     _check_step(1, 1, context)
+     context = max(context, 1)
""",
}
