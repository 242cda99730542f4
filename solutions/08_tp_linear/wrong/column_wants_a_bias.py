"""A layer without a bias cannot be made.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.bias = None if bias is None else own(part(bias, 0, rank, world))
+         self.bias = own(part(bias, 0, rank, world))
""",
}
