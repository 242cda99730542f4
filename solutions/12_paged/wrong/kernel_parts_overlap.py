"""A part is no whole number of tiles: keys at its end count in the next one too.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-     keys = triton.cdiv(longest, parts * block_n) * block_n
+     keys = triton.cdiv(longest, parts)
""",
}
