"""A quantized tensor of torch dequantizes int8.

From: variants/simple.py
Fails: int8, linears
"""

LINES = {
    "dequantize_int8": r"""
-     return q.float() * scale[:, None]
+     zero = torch.zeros_like(scale, dtype=torch.long)
+     return torch._make_per_channel_quantized_tensor(q.contiguous(), scale, zero, 0).dequantize()
""",
}
