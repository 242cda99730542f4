"""Places are numbered in half precision.

Fails: step
"""

LINES = {
    "_forward": r"""
-     keys = torch.arange(cache.max_len, device=positions.device)
+     keys = torch.arange(cache.max_len, device=positions.device).half()
""",
}
