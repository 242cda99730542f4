"""SinkCache gives the new tokens the indices that they had before eviction.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         return keys, self.values, places, places[:, -new:]
+         late = torch.arange(total - new, total, device=k.device).repeat(rows, 1)
+         return keys, self.values, places, late
""",
}
