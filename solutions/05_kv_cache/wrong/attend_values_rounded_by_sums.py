"""Adds up the values in bfloat16, key by key.

Fails: attend
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
+     scores = (q.float() @ k.float().mT * q.shape[-1] ** -0.5).masked_fill(~causal, -torch.inf)
+     weights, out = scores.softmax(-1).to(v.dtype), torch.zeros_like(q)
+     for s in range(context):
+         out = out + weights[..., s : s + 1] * v[:, :, s : s + 1]
+     return out
""",
}
