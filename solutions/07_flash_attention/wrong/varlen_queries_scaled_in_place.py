"""The caller's own queries are scaled before the launch.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
      B, (_, H, D) = len(cu_seqlens_q) - 1, q.shape
+     q *= D**-0.5
...
-         q, k, v, o, None, cu_seqlens_q, cu_seqlens_k, D**-0.5 * LOG2_E,
+         q, k, v, o, None, cu_seqlens_q, cu_seqlens_k, LOG2_E,
""",
}
