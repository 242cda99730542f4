"""The newest tokens come back as they came in.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
          keys, values = ((q.float() * scale).to(k.dtype) for q, scale in self.parts)
+         keys[:, :, -k.shape[2] :], values[:, :, -k.shape[2] :] = k, v
""",
}
