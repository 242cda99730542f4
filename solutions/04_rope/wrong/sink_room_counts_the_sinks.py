"""The window of SinkCache has room for the sinks too.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         evicted = max(0, total - self.sinks - self.window)
+         evicted = max(0, total - max(self.sinks + 1, self.window))
""",
}
