"""SinkCache rotates the new keys by the positions that it is given.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
          places = torch.arange(self.length, device=k.device).repeat(rows, 1)
+         places[:, -new:] = positions
""",
}
