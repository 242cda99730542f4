"""Leaves the mask away for fewer than three queries.

Fails: attend
"""

LINES = {
    "attend": r"""
      causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     if new < 3:
+         return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
""",
}
