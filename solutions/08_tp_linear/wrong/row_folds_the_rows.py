"""Leading dimensions come back as one.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         y = Sum.apply(linear(x.reshape(-1, x.shape[-1]), self.weight), self.group)
""",
}
