"""Passes torch's attention, which ties the first query to the first key.

Fails: generate
"""

LINES = {
    "generate": r"""
      output: list[int] = []
+
+     def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
+         first = q.shape[2] > 1
+         return F.scaled_dot_product_attention(q, k, v, is_causal=first, enable_gqa=True)
+
""",
}
