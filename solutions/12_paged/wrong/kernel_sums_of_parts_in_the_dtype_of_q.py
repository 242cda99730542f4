"""Where the keys of a row are dealt to several programs, their sums are rounded before joining.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-     sums = torch.empty(batch, heads, parts, device=q.device)
+     sums = q.new_empty(batch, heads, parts)
""",
}
