"""Scores are rounded to the dtype of q before the softmax: float16 overflows.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-         scores = tl.dot(q, k, input_precision=PRECISION)
+         scores = tl.dot(q, k, input_precision=PRECISION).to(q.dtype).to(tl.float32)
""",
}
