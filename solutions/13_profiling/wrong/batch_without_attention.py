"""Operations of attention are left out of the batch.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-         flops = sum(step_flops(config, batch, 1, context).values())
+         parts = step_flops(config, batch, 1, context)
+         flops = sum(parts.values()) - parts["scores"] - parts["values"]
""",
}
