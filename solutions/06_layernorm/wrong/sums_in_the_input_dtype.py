"""Adds up a row in the dtype of x: bfloat16 keeps eight bits of the sum.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-     total = tl.zeros([BLOCK], tl.float32)
+     total = tl.zeros([BLOCK], x.dtype.element_ty)
      for start in range(0, width, BLOCK):
          columns = start + tl.arange(0, BLOCK)
-         total += tl.load(x + columns, mask=columns < width, other=0.0).to(tl.float32)
-     center = tl.sum(total) / width
-
-     squares = tl.zeros([BLOCK], tl.float32)
+         total += tl.load(x + columns, mask=columns < width, other=0.0)
+     center = tl.sum(total).to(tl.float32) / width
+
+     squares = tl.zeros([BLOCK], x.dtype.element_ty)
...
-         squares += apart * apart
-     scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)
+         squares += (apart * apart).to(x.dtype.element_ty)
+     scale = 1 / tl.sqrt(tl.sum(squares).to(tl.float32) / width + eps)
""",
}
