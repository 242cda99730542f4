"""x is viewed as rows, which strides may not allow.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.forward": r"""
-         y = linear(Copy.apply(x, self.group), self.weight, self.bias)
+         rows = Copy.apply(x.view(-1, x.shape[-1]), self.group)
+         y = linear(rows, self.weight, self.bias).view(*x.shape[:-1], -1)
""",
}
