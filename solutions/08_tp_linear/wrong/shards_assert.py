"""What cannot be divided is an AssertionError.

From: variants/plain.py
Fails: shards, column, row, mlp
"""

LINES = {
    "part": r"""
-     if rest:
-         raise ValueError(f"weight: {tensor.shape[axis]} features do not split into world={world}")
+     assert rest == 0, f"weight: {tensor.shape[axis]} features do not split into world={world}"
""",
}
