"""A block of columns takes the scale and zero of its first group, however many groups it spans.

From: variants/simple.py
Kind: sizes
Report: https://github.com/vllm-project/vllm/pull/39705
Report: https://github.com/vllm-project/vllm/issues/52576
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-             place = out * (width // group) + column // group
+             place = out * (width // group) + (2 * (byte // 16 * 16)) // group
""",
}
