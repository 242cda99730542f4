"""Every rank keeps the first part of the bias.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.bias = None if bias is None else own(part(bias, 0, rank, world))
+         self.bias = None if bias is None else own(part(bias, 0, 0, world))
""",
}
