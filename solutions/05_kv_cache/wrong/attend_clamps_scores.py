"""Clamps scores so that exp stays finite.

Fails: attend
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
+     scores = (q.float() @ k.float().mT * q.shape[-1] ** -0.5).clamp(-80, 80)
+     weights = scores.exp() * causal
+     return (weights / weights.sum(-1, keepdim=True) @ v.float()).to(q.dtype)
""",
}
