"""Query head h reads key head h modulo G.

Fails: attend, generate
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     times = q.shape[1] // k.shape[1]
+     k, v = k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1)
+     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal)
""",
}
