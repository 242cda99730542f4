"""Scales the queries in place.

Fails: attend
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     q *= q.shape[3] ** -0.5
+     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True, scale=1.0)
""",
}
