"""The query times the scale is rounded to the query's dtype before the product.

Kind: precision
Report: https://github.com/antirez/h3.c/issues/3
Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-     acc = tl.zeros([BLOCK_H, BLOCK_D], tl.float32)
+     query = (query * factor).to(query.dtype)
+     acc = tl.zeros([BLOCK_H, BLOCK_D], tl.float32)
...
-         scores = tl.dot(query, tl.trans(k), input_precision="ieee") * factor
+         scores = tl.dot(query, tl.trans(k), input_precision="ieee")
""",
}
