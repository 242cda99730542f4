"""The hidden features are gathered, and a whole w_down is applied.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.__init__": r"""
-         self.w_down = own(row_shard(w_down, rank, world))
+         self.w_down = own(w_down)
""",
    "ParallelMLP.forward": r"""
-         return Sum.apply(linear(hidden, self.w_down), self.group)
+         return linear(Gather.apply(hidden, self.group), self.w_down)
""",
}
