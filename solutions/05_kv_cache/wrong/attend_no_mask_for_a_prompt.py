"""Leaves the mask away where there are as many queries as keys.

Fails: attend, generate
"""

LINES = {
    "attend": r"""
      causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     if new == context:
+         return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
""",
}
