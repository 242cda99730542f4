"""SinkCache evicts first and then adds, so that T tokens too many are kept.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         evicted = max(0, total - self.sinks - self.window)
+         evicted = max(0, total - new - self.sinks - self.window)
""",
}
