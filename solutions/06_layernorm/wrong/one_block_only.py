"""Looks at the first 16384 columns of a row and leaves the rest as it was.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
      total = tl.zeros([BLOCK], tl.float32)
-     for start in range(0, width, BLOCK):
+     for start in range(0, BLOCK, BLOCK):
...
      squares = tl.zeros([BLOCK], tl.float32)
-     for start in range(0, width, BLOCK):
+     for start in range(0, BLOCK, BLOCK):
...

-     for start in range(0, width, BLOCK):
+     for start in range(0, BLOCK, BLOCK):
""",
    "dx_kernel": r"""
      products = tl.zeros([BLOCK], tl.float32)
-     for start in range(0, width, BLOCK):
+     for start in range(0, BLOCK, BLOCK):
...

-     for start in range(0, width, BLOCK):
+     for start in range(0, BLOCK, BLOCK):
""",
}
