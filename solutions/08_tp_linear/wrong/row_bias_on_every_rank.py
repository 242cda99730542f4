"""Each rank adds the bias before the sum, so it counts W times.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
-         return y if self.bias is None else y + self.bias
+         return Sum.apply(linear(x, self.weight, self.bias), self.group)
""",
}
