"""The weight is cut by a copy, the bias by a view.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.bias = None if bias is None else own(part(bias, 0, rank, world))
+         self.bias = None if bias is None else nn.Parameter(part(bias, 0, rank, world))
""",
}
