"""SinkCache has added the tokens when it refuses them.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         if new > self.window:
-             raise ValueError(f"k holds {new} tokens, more than the window of {self.window}")
...
          places = torch.arange(self.length, device=k.device).repeat(rows, 1)
+         if new > self.window:
+             raise ValueError(f"k holds {new} tokens, more than the window of {self.window}")
""",
}
