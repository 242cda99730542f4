"""Sum and result are rounded to the dtype of the values after every block.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-         total = total * shrink + tl.sum(p, 1)
+         total = (total * shrink + tl.sum(p, 1)).to(v.dtype).to(tl.float32)
          acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None], input_precision=PRECISION)
+         acc = acc.to(v.dtype).to(tl.float32)
""",
}
