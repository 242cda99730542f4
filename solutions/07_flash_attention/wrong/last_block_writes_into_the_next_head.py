"""A head's last block writes one row of the next head, which a later program writes again.

From: variants/simple.py
Fails: triton
"""

LINES = {
    "_forward": r"""
-         tl.store(lse_at, tl.where(some, lse, float("-inf")), mask=rows < T)
+         end = tl.where(pid + row_blocks < tl.num_programs(0), T + 1, T)
+         tl.store(lse_at, tl.where(some, lse, float("-inf")), mask=rows < end)
""",
}
