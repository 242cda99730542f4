"""Unused entries of tables are overwritten before the kernel runs.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
      share, longest = heads // groups, tables.shape[1] * size
+     tables.clamp_(0, len(k_pool) - 1)
""",
}
