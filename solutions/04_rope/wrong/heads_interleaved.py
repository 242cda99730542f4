"""Query head h reads key head h % G.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     grouped = q.unflatten(1, (keys.shape[1], -1))
+     grouped = q.unflatten(1, (-1, keys.shape[1])).transpose(1, 2)
...
-     return (weights @ values.unsqueeze(2)).flatten(1, 2)
+     return (weights @ values.unsqueeze(2)).transpose(1, 2).flatten(1, 2)
""",
}
