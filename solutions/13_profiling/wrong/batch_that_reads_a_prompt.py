"""The whole context is new in each step.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-         flops = sum(step_flops(config, batch, 1, context).values())
+         flops = sum(step_flops(config, batch, context, context).values())
...
-         nbytes = sum(step_bytes(config, batch, 1, context).values())
+         nbytes = sum(step_bytes(config, batch, context, context).values())
""",
}
