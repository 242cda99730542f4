"""Works for x of shape [M, N] only.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "as_rows": r"""
-     rows = x.reshape(-1, x.shape[-1])
+     num_rows, width = x.shape
+     rows = x.reshape(num_rows, width)
""",
}
