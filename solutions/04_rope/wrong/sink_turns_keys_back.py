"""SinkCache keeps rotated keys and turns them back by what was evicted: rounding adds up.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
          total = k.shape[2]
+         fresh = torch.arange(total - new, total, device=k.device).repeat(rows, 1)
+         k = torch.cat(
+             (k[:, :, : total - new], rotate(k[:, :, total - new :], fresh, self.frequencies)), dim=2
+         )
...
-         keys = rotate(self.keys, places, self.frequencies)
-         return keys, self.values, places, places[:, -new:]
+         moved = torch.tensor(kept, device=k.device) - places
+         self.keys = rotate(self.keys, -moved, self.frequencies)
+         return self.keys, self.values, places, places[:, -new:]
""",
}
