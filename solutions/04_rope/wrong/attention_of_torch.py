"""attend calls torch's scaled_dot_product_attention.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     scores = (grouped @ keys.unsqueeze(2).mT).float() * q.shape[-1] ** -0.5
      hidden = key_positions[:, None, :] > query_positions[:, :, None]
-     weights = scores.masked_fill(hidden[:, None, None], -math.inf).softmax(-1).to(values.dtype)
-     return (weights @ values.unsqueeze(2)).flatten(1, 2)
+     seen = hidden.logical_not()[:, None]
+     return torch.nn.functional.scaled_dot_product_attention(
+         grouped.flatten(1, 2), keys, values, attn_mask=seen, enable_gqa=True
+     )
""",
}
