"""Steps of no tokens are counted.

Fails: flops
"""

LINES = {
    "step_flops": r"""
-     _check_step(batch, new, context)
""",
}
