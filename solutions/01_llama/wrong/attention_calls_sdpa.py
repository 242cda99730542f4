"""Leaves attention to torch.

From: variants/plain.py
Fails: attention, model, engine
"""

LINES = {
    "attention": r"""
-     (heads, new, width), (groups, context) = q.shape[1:], k.shape[1:3]
+     (heads, new, _), (groups, context) = q.shape[1:], k.shape[1:3]
...
-     k, v = (t.float().repeat_interleave(heads // groups, dim=1) for t in (k, v))
-     scores = q.float() @ k.mT / math.sqrt(width)
      seen = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
-     weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
-     return (weights @ v).to(q.dtype)
+     return F.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True)
""",
}
