"""Rank 0 alone adds the bias that all ranks hold: theirs get no gradient.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
-         return y if self.bias is None else y + self.bias
+         bias = self.bias if dist.get_rank(self.group) == 0 else None
+         return Sum.apply(linear(x, self.weight, bias), self.group)
""",
}
