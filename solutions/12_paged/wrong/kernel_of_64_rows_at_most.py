"""The grid has programs for 64 rows, the largest batch that was ever tried.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-     _attend[(batch, groups, parts)](
+     _attend[(min(batch, 64), groups, parts)](
""",
}
