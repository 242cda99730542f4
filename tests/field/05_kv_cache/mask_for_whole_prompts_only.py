"""There is a mask only where T = S: the tokens of a chunk behind others see each other.

Kind: positions
Report: https://github.com/mlx-node/mlx-node/pull/24
Report: https://github.com/huggingface/candle/pull/3743
Fails: attend, generate
"""

LINES = {
    "attend": r"""
-     return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)
+     mask = causal if new == context else None
+     return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
""",
}
