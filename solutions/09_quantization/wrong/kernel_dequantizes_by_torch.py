"""The kernel runs for show: torch dequantizes the whole weight and multiplies.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "int4_matmul": r"""
-     return y
+     weight = dequantize_int4(packed, scale, zero, group)
+     return (x.float() @ weight.T).to(x.dtype)
""",
}
