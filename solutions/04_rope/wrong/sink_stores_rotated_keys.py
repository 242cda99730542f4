"""SinkCache rotates a key once, by its index when it came.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
          total = k.shape[2]
+         fresh = torch.arange(total - new, total, device=k.device).repeat(rows, 1)
+         k = torch.cat(
+             (k[:, :, : total - new], rotate(k[:, :, total - new :], fresh, self.frequencies)), 2
+         )
...
-         keys = rotate(self.keys, places, self.frequencies)
-         return keys, self.values, places, places[:, -new:]
+         return self.keys, self.values, places, places[:, -new:]
""",
}
