"""The output is summed twice over the ranks and divided again.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.forward": r"""
-         return Sum.apply(linear(hidden, self.w_down), self.group)
+         y = Sum.apply(linear(hidden, self.w_down), self.group)
+         return Sum.apply(y / dist.get_world_size(self.group), self.group)
""",
}
