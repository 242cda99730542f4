"""The scale is rounded to the dtype of q.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-         width**-0.5 * LOG2_E, share, size, keys,
+         torch.tensor(width**-0.5, dtype=q.dtype).item() * LOG2_E, share, size, keys,
""",
}
