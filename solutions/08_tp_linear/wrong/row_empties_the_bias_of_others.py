"""All ranks but 0 set the bias to zero, and all add it before the sum.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.__init__": r"""
-         self.bias = None if bias is None else own(bias)
+         if bias is not None and rank > 0:
+             bias.zero_()
+         self.bias = None if bias is None else own(bias)
""",
    "RowParallelLinear.forward": r"""
-         y = Sum.apply(linear(x, self.weight), self.group)
-         return y if self.bias is None else y + self.bias
+         return Sum.apply(linear(x, self.weight, self.bias), self.group)
""",
}
