"""update turns tensors of float32 into steps where they lie.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
-             q, scale = quantize_int8(x.reshape(-1, x.shape[-1]))
+             _, scale = quantize_int8(x.reshape(-1, x.shape[-1]))
+             steps = x.float().div_(scale.reshape(*x.shape[:3], 1))
+             q = steps.round().clamp(-127, 127).to(torch.int8)
""",
}
