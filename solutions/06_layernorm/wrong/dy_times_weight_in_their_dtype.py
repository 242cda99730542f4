"""Multiplies dy by weight as they are loaded: the product is rounded before it becomes float32.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "dx_kernel": r"""
          mask = columns < width
-         inner = tl.load(dy + columns, mask=mask, other=0.0).to(tl.float32)
-         inner *= tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
+         inner = tl.load(dy + columns, mask=mask, other=0.0)
+         inner = (inner * tl.load(weight + columns, mask=mask, other=0.0)).to(tl.float32)
          value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
          sums += inner
...
          mask = columns < width
-         inner = tl.load(dy + columns, mask=mask, other=0.0).to(tl.float32)
-         inner *= tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
+         inner = tl.load(dy + columns, mask=mask, other=0.0)
+         inner = (inner * tl.load(weight + columns, mask=mask, other=0.0)).to(tl.float32)
          value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
          normal = (value - center) * scale
""",
}
