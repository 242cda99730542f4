"""The offset of a key is the column times its stride in int32: a long strided cache wraps around.

From: variants/simple.py
Kind: addresses
Report: https://github.com/vllm-project/vllm/issues/50427
Report: https://github.com/fla-org/flash-linear-attention/issues/1080
Fails: triton, varlen
"""

LINES = {
    "_attend": r"""
-         k_at = k_ptr + columns.to(tl.int64)[None, :] * stride_ks + d[:, None] * stride_kd
+         k_at = k_ptr + columns[None, :] * stride_ks + d[:, None] * stride_kd
""",
}
