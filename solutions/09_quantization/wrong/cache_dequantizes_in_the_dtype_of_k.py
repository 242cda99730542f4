"""Codes and scales are multiplied in the dtype of k.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
-         keys, values = ((q.float() * scale).to(k.dtype) for q, scale in self.parts)
+         keys, values = (q.to(k.dtype) * scale.to(k.dtype) for q, scale in self.parts)
""",
}
