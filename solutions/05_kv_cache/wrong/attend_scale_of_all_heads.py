"""Divides by the root of H · D.

Fails: attend, generate
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     scale = (q.shape[1] * q.shape[3]) ** -0.5
+     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, scale=scale, enable_gqa=True)
""",
}
