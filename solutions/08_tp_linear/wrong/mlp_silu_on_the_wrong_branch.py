"""SiLU is applied to the up projection.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.forward": r"""
-         hidden = silu(linear(x, self.w_gate)) * linear(x, self.w_up)
+         hidden = linear(x, self.w_gate) * silu(linear(x, self.w_up))
""",
}
