"""Leading dimensions come back as one.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.forward": r"""
-         y = linear(Copy.apply(x, self.group), self.weight, self.bias)
+         y = linear(Copy.apply(x, self.group).reshape(-1, x.shape[-1]), self.weight, self.bias)
""",
}
