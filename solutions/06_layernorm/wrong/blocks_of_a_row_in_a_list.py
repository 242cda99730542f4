"""The blocks of a row are kept in a list of Python, so that x is read once.

From: variants/passes.py
Fails: forward, backward
"""

LINES = {
    "forward_kernel": r"""
      total = tl.zeros([BLOCK], tl.float32)
+     blocks = []
      for start in range(0, width, BLOCK):
          columns = start + tl.arange(0, BLOCK)
-         total += tl.load(x + columns, mask=columns < width, other=0.0).to(tl.float32)
+         blocks.append(tl.load(x + columns, mask=columns < width, other=0.0).to(tl.float32))
+         total += blocks[-1]
...
      squares = tl.zeros([BLOCK], tl.float32)
      for start in range(0, width, BLOCK):
          columns = start + tl.arange(0, BLOCK)
          mask = columns < width
-         value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
+         value = blocks[start // BLOCK]
""",
}
