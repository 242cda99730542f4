"""The offset of a row of x is int32: a view of far rows is read from elsewhere.

From: variants/numbers_as_words.py
Kind: addresses
Report: https://github.com/vllm-project/vllm/pull/9425
Report: https://github.com/vllm-project/vllm/issues/53390
Fails: kernel
"""

LINES = {
    "partial_kernel": r"""
-         even = tl.load(x + row * x_row + 2 * byte * x_column, mask=byte < half, other=0.0)
+         here = tl.program_id(0) * x_row
+         even = tl.load(x + here + 2 * byte * x_column, mask=byte < half, other=0.0)
""",
}
