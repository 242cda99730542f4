"""Bytes that are written are left out of the batch.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-         nbytes = sum(step_bytes(config, batch, 1, context).values())
+         parts = step_bytes(config, batch, 1, context)
+         nbytes = parts["weights"] + parts["cache_read"]
""",
}
