"""SinkCache: tokens keep their index in the whole text.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.__init__": r"""
          self.length = 0
+         self.told = 0
""",
    "SinkCache.update": r"""
-         places = torch.arange(self.length, device=k.device).repeat(rows, 1)
+         self.told += new
+         first = min(self.sinks, self.length)
+         kept = [*range(first), *range(self.told - self.length + first, self.told)]
+         places = torch.tensor(kept, device=k.device).repeat(rows, 1)
""",
}
