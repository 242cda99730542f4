"""Refuses every N that is no power of two.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "as_rows": r"""
+     if x.shape[-1] & (x.shape[-1] - 1):
+         raise ValueError("N must be a power of two")
      rows = x.reshape(-1, x.shape[-1])
""",
}
