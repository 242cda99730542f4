"""A leading dimension of one is dropped, as if it had been added for a lone vector.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.forward": r"""
-         y = linear(Copy.apply(x, self.group), self.weight, self.bias)
+         one = x.unsqueeze(0) if x.dim() == 1 else x
+         y = linear(Copy.apply(one, self.group), self.weight, self.bias).squeeze(0)
""",
}
