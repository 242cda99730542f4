"""The kernel reads a global number, which Triton allows for a tl.constexpr alone.

From: variants/passes.py
Fails: forward
"""

LINES = {
    "forward_kernel": r"""
      total = tl.zeros([BLOCK], tl.float32)
-     for start in range(0, width, BLOCK):
+     for start in range(0, width, MAX_BLOCK):
          columns = start + tl.arange(0, BLOCK)
          total += tl.load(x + columns, mask=columns < width, other=0.0).to(tl.float32)
""",
}
