"""The full weight is emptied as soon as the part is out of it.

From: variants/plain.py
Fails: shards, row, mlp
"""

LINES = {
    "row_shard": r"""
-     return part(weight, 1, rank, world)
+     own_part = part(weight, 1, rank, world).clone()
+     weight.zero_()
+     return own_part
""",
}
