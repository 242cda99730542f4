"""Counts NaN as 0 in the forward: a row that is lost looks healthy.

From: variants/simple.py
Fails: forward, speed
"""

LINES = {
    "forward_kernel": r"""
      value = tl.load(x + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
+     value = tl.where(value == value, value, 0.0)
""",
}
