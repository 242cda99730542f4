"""Uses is_causal for a single query.

Fails: attend, generate
"""

LINES = {
    "attend": r"""
      causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     if new == 1:
+         return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
""",
}
