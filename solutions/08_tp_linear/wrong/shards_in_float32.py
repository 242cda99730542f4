"""Shards are float32, whatever the weight is.

From: variants/plain.py
Fails: shards, column, row, qkv, mlp
"""

LINES = {
    "part": r"""
-     return tensor.narrow(axis, rank * size, size)
+     return tensor.narrow(axis, rank * size, size).float()
""",
}
