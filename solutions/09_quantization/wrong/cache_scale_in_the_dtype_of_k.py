"""Scales are computed in the dtype of k.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
-             q, scale = quantize_int8(x.reshape(-1, x.shape[-1]))
+             scale = x.reshape(-1, x.shape[-1]).abs().amax(1) / 127
+             scale = torch.where(scale == 0, 1.0, scale.float())
+             q = (x.reshape(-1, x.shape[-1]).float() / scale[:, None]).round().to(torch.int8)
""",
}
