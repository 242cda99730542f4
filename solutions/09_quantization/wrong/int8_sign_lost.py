"""dequantize_int8 reads codes as bytes without a sign.

From: variants/simple.py
Fails: int8, linears, model
"""

LINES = {
    "dequantize_int8": r"""
-     return q.float() * scale[:, None]
+     return q.view(torch.uint8).float() * scale[:, None]
""",
}
