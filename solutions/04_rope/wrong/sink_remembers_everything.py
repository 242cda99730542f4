"""SinkCache keeps all tokens for ever and picks what it returns.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         self.keys, self.values, self.length = k[:, :, kept], v[:, :, kept], len(kept)
+         self.keys, self.values, self.length = k, v, len(kept)
          places = torch.arange(self.length, device=k.device).repeat(rows, 1)
-         keys = rotate(self.keys, places, self.frequencies)
-         return keys, self.values, places, places[:, -new:]
+         keys = rotate(k[:, :, kept], places, self.frequencies)
+         return keys, v[:, :, kept], places, places[:, -new:]
""",
}
