"""gather_output is True unless it is passed.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         gather_output: bool = False,
+         gather_output: bool = True,
""",
}
