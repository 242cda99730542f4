"""The starts of the queries serve for the keys too.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
-         q, k, v, o, None, cu_seqlens_q, cu_seqlens_k, D**-0.5 * LOG2_E,
+         q, k, v, o, None, cu_seqlens_q, cu_seqlens_q, D**-0.5 * LOG2_E,
""",
}
