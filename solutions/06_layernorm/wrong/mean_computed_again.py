"""Computes the mean from x again in backward; the one that is given is not looked at.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "dx_kernel": r"""
-     center = tl.load(mean + row)
      scale = tl.load(rstd + row)
+     seen = tl.zeros([BLOCK], tl.float32)
+     for start in range(0, width, BLOCK):
+         columns = start + tl.arange(0, BLOCK)
+         seen += tl.load(x + columns, mask=columns < width, other=0.0).to(tl.float32)
+     center = tl.sum(seen) / width
""",
}
