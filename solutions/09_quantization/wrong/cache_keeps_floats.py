"""The cache quantizes and keeps the dequantized numbers.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
              q, scale = q.reshape(x.shape), scale.reshape(*x.shape[:3], 1)
+             q, scale = q.float() * scale, torch.ones_like(scale)
...
-         keys, values = ((q.float() * scale).to(k.dtype) for q, scale in self.parts)
+         keys, values = ((q * scale).to(k.dtype) for q, scale in self.parts)
""",
}
