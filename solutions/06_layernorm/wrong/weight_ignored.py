"""Normalises and adds the bias; weight has no effect on y or dx.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-         w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
          b = tl.load(bias + columns, mask=mask, other=0.0).to(tl.float32)
-         tl.store(y + columns, (value - center) * scale * w + b, mask=mask)
+         tl.store(y + columns, (value - center) * scale + b, mask=mask)
""",
    "dx_kernel": r"""
          inner = tl.load(dy + columns, mask=mask, other=0.0).to(tl.float32)
-         inner *= tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
          value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
          sums += inner
...
          inner = tl.load(dy + columns, mask=mask, other=0.0).to(tl.float32)
-         inner *= tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
          value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
          normal = (value - center) * scale
""",
}
