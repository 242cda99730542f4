"""All heads of a token share a scale.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
-             q, scale = quantize_int8(x.reshape(-1, x.shape[-1]))
-             q, scale = q.reshape(x.shape), scale.reshape(*x.shape[:3], 1)
+             flat = x.transpose(1, 2).reshape(-1, x.shape[1] * x.shape[3])
+             q, scale = quantize_int8(flat)
+             q = q.reshape(x.transpose(1, 2).shape).transpose(1, 2)
+             scale = scale.reshape(x.shape[0], 1, x.shape[2], 1).expand(*x.shape[:3], 1)
""",
}
