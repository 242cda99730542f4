"""Scores are rounded to the dtype of q.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         scores = tl.dot(query, tl.trans(k), input_precision="ieee") * factor
+         scores = tl.dot(query, tl.trans(k), input_precision="ieee").to(k.dtype) * factor
""",
}
