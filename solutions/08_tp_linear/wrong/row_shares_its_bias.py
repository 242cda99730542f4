"""The bias is the tensor that was passed, so that training changes it for its owner.

From: variants/plain.py
Fails: row
"""

LINES = {
    "RowParallelLinear.__init__": r"""
-         self.bias = None if bias is None else own(bias)
+         self.bias = None if bias is None else nn.Parameter(bias)
""",
}
