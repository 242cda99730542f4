"""Where the keys of a row are dealt to several programs, their results are rounded before joining.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-     results = o if parts == 1 else torch.empty(*sums.shape, width, device=q.device)
+     results = o if parts == 1 else q.new_empty(*sums.shape, width)
""",
}
