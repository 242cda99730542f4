"""Rows are counted over all dimensions, and found by the stride of the first one.

Kind: layouts
Report: https://github.com/vllm-project/vllm-xpu-kernels/pull/397
Fails: norm
"""

LINES = {
    "operators.cpp": r"""
-       float sum = static_cast<float>(xs[at_x.offset]) + static_cast<float>(r[at_r.offset]);
+       int64_t at = row * x.stride(0) + e * x.stride(x.dim() - 1);
+       float sum = static_cast<float>(xs[at]) + static_cast<float>(r[at_r.offset]);
""",
}
