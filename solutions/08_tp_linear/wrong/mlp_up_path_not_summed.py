"""Only the gradient through the gate is summed over ranks.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.forward": r"""
-         x = Copy.apply(x, self.group)
-         hidden = silu(linear(x, self.w_gate)) * linear(x, self.w_up)
+         hidden = silu(linear(Copy.apply(x, self.group), self.w_gate)) * linear(x, self.w_up)
""",
}
