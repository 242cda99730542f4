"""One rank alone is refused: there is nothing to split.

From: variants/plain.py
Fails: shards, column, row, qkv, mlp
"""

LINES = {
    "part": r"""
-     if rest:
+     if rest or world < 2:
""",
}
