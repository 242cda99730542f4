"""Raises for an x without rows.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "as_rows": r"""
+     if x.numel() == 0:
+         raise ValueError("x is empty")
      rows = x.reshape(-1, x.shape[-1])
""",
}
