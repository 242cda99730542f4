"""Writes softmax with a bare exponential.

Fails: attend
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     times = q.shape[1] // k.shape[1]
+     k, v = (x.repeat_interleave(times, dim=1) for x in (k, v))
+     weights = (q @ k.mT * q.shape[3] ** -0.5).exp() * causal
+     return weights / weights.sum(-1, keepdim=True) @ v
""",
}
