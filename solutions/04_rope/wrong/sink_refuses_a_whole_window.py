"""SinkCache refuses an update of exactly window tokens.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         if new > self.window:
+         if new >= self.window:
""",
}
