"""Rows and keys are found by the row of the start, without the stride of a row.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
-         (0, x.stride(1), x.stride(0), x.stride(2)) for x in (q, k, v, o)
+         (0, x.stride(1), x.shape[1] * x.shape[2], x.stride(2)) for x in (q, k, v, o)
""",
}
