"""dequantize_int8 reads -128 as -127.

From: variants/simple.py
Fails: int8
"""

LINES = {
    "dequantize_int8": r"""
-     return q.float() * scale[:, None]
+     return q.clamp(min=-127).float() * scale[:, None]
""",
}
