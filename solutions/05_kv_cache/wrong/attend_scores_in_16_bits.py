"""Scales first, and multiplies queries and keys in their own dtype.

Fails: attend
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
+     scores = (q * q.shape[-1] ** -0.5 @ k.mT).float().masked_fill(~causal, -torch.inf)
+     return scores.softmax(-1).to(v.dtype) @ v
""",
}
