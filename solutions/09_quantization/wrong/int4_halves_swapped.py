"""The even column is in the high half of its byte, and is read from there.

From: variants/simple.py
Fails: int4
"""

LINES = {
    "quantize_int4": r"""
-     return codes[:, 0::2] | (codes[:, 1::2] << 4), scale, zero.to(torch.uint8)
+     return codes[:, 1::2] | (codes[:, 0::2] << 4), scale, zero.to(torch.uint8)
""",
    "dequantize_int4": r"""
-     codes[:, 0::2] = (packed & 0x0F).float()
-     codes[:, 1::2] = (packed >> 4).float()
+     codes[:, 1::2] = (packed & 0x0F).float()
+     codes[:, 0::2] = (packed >> 4).float()
""",
}
