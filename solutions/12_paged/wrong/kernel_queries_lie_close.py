"""The kernel takes q for contiguous.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-         q.stride(), k_pool.stride(), v_pool.stride(), tables.stride(), lengths.stride(),
+         o.stride(), k_pool.stride(), v_pool.stride(), tables.stride(), lengths.stride(),
""",
}
