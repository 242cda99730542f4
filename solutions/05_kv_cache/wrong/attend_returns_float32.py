"""Returns float32 for every dtype.

Fails: attend
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     q, k, v = q.float(), k.float(), v.float()
+     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
""",
}
