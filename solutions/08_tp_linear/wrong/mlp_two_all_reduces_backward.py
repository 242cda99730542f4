"""x enters twice, so its gradient is summed twice over the ranks.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.forward": r"""
-         x = Copy.apply(x, self.group)
-         hidden = silu(linear(x, self.w_gate)) * linear(x, self.w_up)
+         gate, up = Copy.apply(x, self.group), Copy.apply(x, self.group)
+         hidden = silu(linear(gate, self.w_gate)) * linear(up, self.w_up)
""",
}
