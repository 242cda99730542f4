"""Masks only when there is nothing in the cache yet.

Fails: attend, generate
"""

LINES = {
    "attend": r"""
      causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     if new < context:
+         return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
""",
}
