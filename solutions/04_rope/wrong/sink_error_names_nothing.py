"""SinkCache says no word of the window when it refuses an update.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-             raise ValueError(f"k holds {new} tokens, more than the window of {self.window}")
+             raise ValueError(f"{new} tokens are too many")
""",
}
