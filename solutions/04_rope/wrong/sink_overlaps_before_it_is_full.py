"""SinkCache joins the first sinks and the last window as soon as the window is full.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         kept = [*range(min(self.sinks, total)), *range(self.sinks + evicted, total)]
+         kept = [*range(min(self.sinks, total)), *range(max(0, total - self.window), total)]
+         kept = kept if total > self.window else [*range(total)]
+         assert evicted >= 0
""",
}
