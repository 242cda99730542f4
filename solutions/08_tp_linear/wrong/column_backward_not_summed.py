"""Each rank keeps its own share of the gradient of x.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.forward": r"""
-         y = linear(Copy.apply(x, self.group), self.weight, self.bias)
+         y = linear(x, self.weight, self.bias)
""",
}
