"""Heads are padded to a multiple of 8, and scores divided by the root of that width.

Kind: sizes
Report: https://github.com/intel/ipex-llm/pull/12619
Fails: attend, generate
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     scale = (q.shape[3] + -q.shape[3] % 8) ** -0.5
+     return F.scaled_dot_product_attention(
+         q, k, v, attn_mask=causal, enable_gqa=True, scale=scale
+     )
""",
}
