"""The sum is made in float32 and not cast back.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
+         y = Sum.apply(linear(x, self.weight).float(), self.group)
""",
}
