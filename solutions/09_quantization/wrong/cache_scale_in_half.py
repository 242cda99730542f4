"""Scales are kept in float16.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
              q, scale = q.reshape(x.shape), scale.reshape(*x.shape[:3], 1)
+             scale = scale.half().float()
""",
}
