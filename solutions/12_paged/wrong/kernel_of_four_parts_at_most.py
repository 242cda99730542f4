"""A row has parts of 128 keys, and four of them at most.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-     keys = triton.cdiv(longest, parts * block_n) * block_n
+     parts = min(parts, 4)
+     keys = max(SHORTEST, block_n) if parts > 1 else triton.cdiv(longest, block_n) * block_n
""",
}
