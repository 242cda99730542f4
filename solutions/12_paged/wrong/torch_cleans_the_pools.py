"""NaN in the pools is replaced by 0 in place.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
      o = torch.zeros_like(q)
+     k_pool.nan_to_num_()
+     v_pool.nan_to_num_()
""",
}
