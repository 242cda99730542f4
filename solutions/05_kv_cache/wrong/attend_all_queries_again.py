"""Pads the queries to the length of the keys and throws most answers away.

Fails: attend, generate
"""

LINES = {
    "attend": r"""
-     causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     causal = torch.ones(context, context, dtype=torch.bool, device=q.device).tril()
+     q = F.pad(q, (0, 0, context - new, 0))
+     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)[:, :, -new:]
""",
}
