"""The causal mask is a tensor [T, S] that the kernel loads.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
          return o, lse
+     _bias = q.new_zeros(T, S).masked_fill(q.new_ones(T, S).triu(S - T + 1) > 0, -math.inf)
""",
}
