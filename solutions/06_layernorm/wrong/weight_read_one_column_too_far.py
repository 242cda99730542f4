"""The mask of weight and bias lets one column too many through; what comes back is not stored.

From: variants/simple.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
-     b = tl.load(bias + columns, mask=mask, other=0.0).to(tl.float32)
+     w = tl.load(weight + columns, mask=columns <= width, other=0.0).to(tl.float32)
+     b = tl.load(bias + columns, mask=columns <= width, other=0.0).to(tl.float32)
""",
}
