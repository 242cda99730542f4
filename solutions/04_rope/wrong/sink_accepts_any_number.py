"""SinkCache takes more tokens than its window.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         if new > self.window:
-             raise ValueError(f"k holds {new} tokens, more than the window of {self.window}")
""",
}
