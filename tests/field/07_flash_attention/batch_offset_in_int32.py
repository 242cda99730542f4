"""The number of the batch is int32, and so is its product with the stride of a large batch.

From: variants/simple.py
Kind: addresses
Report: https://github.com/Dao-AILab/flash-attention/issues/2214
Report: https://github.com/Dao-AILab/flash-attention/pull/1500
Fails: triton
"""

LINES = {
    "_forward": r"""
-     batch = (pid // row_blocks // H).to(tl.int64)
+     batch = pid // row_blocks // H
""",
}
