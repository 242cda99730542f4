"""Sinks and window lie on the class: the last cache sets those of all.

From: variants/plain.py
Fails: sink
"""

LINES = {
    "SinkCache.__init__": r"""
-         self.frequencies, self.sinks, self.window = frequencies, sinks, window
+         self.frequencies = frequencies
+         SinkCache.sinks, SinkCache.window = sinks, window
""",
}
