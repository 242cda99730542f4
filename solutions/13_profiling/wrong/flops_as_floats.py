"""Counts are floats, which round above 2 ** 53.

Fails: flops
"""

LINES = {
    "step_flops": r"""
-     hidden, tokens = config.hidden_size, batch * new
+     hidden, tokens = float(config.hidden_size), batch * new
""",
}
