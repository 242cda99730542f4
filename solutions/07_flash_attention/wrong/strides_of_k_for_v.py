"""v is read with the strides of k.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "flash_attention": r"""
-         *q.stride(), *k.stride(), *v.stride(), *o.stride(),
+         *q.stride(), *k.stride(), *k.stride(), *o.stride(),
""",
    "flash_attention_varlen": r"""
-     q_, k_, v_, o_ = (  # strides of batch, head, row, column: all sequences lie in one
-         (0, x.stride(1), x.stride(0), x.stride(2)) for x in (q, k, v, o)
+     q_, k_, o_ = (  # strides of batch, head, row, column: all sequences lie in one
+         (0, x.stride(1), x.stride(0), x.stride(2)) for x in (q, k, o)
...
-         0, 0, H, H // k.shape[1], row_blocks, *q_, *k_, *v_, *o_,
+         0, 0, H, H // k.shape[1], row_blocks, *q_, *k_, *k_, *o_,
""",
}
