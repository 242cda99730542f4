"""Writes all of a long row, but takes mean and variance from its first block.

From: variants/passes.py
Fails: forward, speed
"""

LINES = {
    "forward_kernel": r"""
-     for start in range(0, width, BLOCK):
+     for start in range(0, BLOCK, BLOCK):
          columns = start + tl.arange(0, BLOCK)
          total += tl.load(x + columns, mask=columns < width, other=0.0).to(tl.float32)
-     center = tl.sum(total) / width
+     center = tl.sum(total) / tl.minimum(width, BLOCK)

      squares = tl.zeros([BLOCK], tl.float32)
-     for start in range(0, width, BLOCK):
+     for start in range(0, BLOCK, BLOCK):
...
-     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+     scale = 1 / tl.sqrt(tl.sum(squares) / tl.minimum(width, BLOCK) + eps)
""",
}
