"""SinkCache: length counts all tokens that ever came.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
          rows, new = positions.shape
+         self.length += new if new <= self.window else 0
          if new > self.window:
              raise ValueError(f"k holds {new} tokens, more than the window of {self.window}")
-         if self.length:
+         if self.length > new:
...
-         self.keys, self.values, self.length = k[:, :, kept], v[:, :, kept], len(kept)
-         places = torch.arange(self.length, device=k.device).repeat(rows, 1)
+         self.keys, self.values = k[:, :, kept], v[:, :, kept]
+         places = torch.arange(len(kept), device=k.device).repeat(rows, 1)
""",
}
