"""An update evicts one token, as decoding does, however many have come.

From: variants/plain.py
Kind: sizes
Report: https://github.com/huggingface/transformers/pull/27907
Report: https://github.com/huggingface/transformers/pull/31537
Fails: sink
"""

LINES = {
    "SinkCache.update": r"""
-         evicted = max(0, total - self.sinks - self.window)
+         evicted = min(1, max(0, total - self.sinks - self.window))
""",
}
