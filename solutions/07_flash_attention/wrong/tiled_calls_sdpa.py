"""torch's scaled_dot_product_attention does the work; only lse is computed here.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-     return o, lse
+     keys, values = (x.repeat_interleave(H // G, 1) for x in (k, v))
+     mask = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T) if causal else None
+     o = torch.nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
+     return o.nan_to_num(), lse
""",
}
