"""SinkCache: positions of the window start from 0 again, beside the sinks.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
          places = torch.arange(self.length, device=k.device).repeat(rows, 1)
+         places = torch.where(places < self.sinks, places, places - self.sinks)
""",
}
