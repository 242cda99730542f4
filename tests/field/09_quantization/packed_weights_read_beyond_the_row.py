"""The last step reads packed weights behind their row: times a scale of 0 nobody sees it.

From: variants/simple.py
Kind: sizes
Report: https://github.com/vllm-project/vllm/issues/52576
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-         both = tl.load(packed + out * (width // 2) + byte, mask=mask, other=0)
+         both = tl.load(packed + out * (width // 2) + byte, mask=out < num_out, other=0)
""",
}
