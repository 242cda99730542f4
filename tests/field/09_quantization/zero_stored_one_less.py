"""The kernel adds 1 to each zero, as one format of checkpoints has them.

From: variants/simple.py
Kind: contracts
Report: https://github.com/vllm-project/vllm/pull/38966
Report: https://github.com/AutoGPTQ/AutoGPTQ/issues/477
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-             acc += value.to(tl.float32) * (code - z) * s
+             acc += value.to(tl.float32) * (code - (z + 1)) * s
""",
}
