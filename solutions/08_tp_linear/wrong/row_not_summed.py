"""Each rank returns its own product.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         y = linear(x, self.weight)
""",
}
