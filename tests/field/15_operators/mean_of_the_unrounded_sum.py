"""The mean of squares is of the sum in float32, and what is multiplied by it is what residual holds.

Kind: precision
Report: https://github.com/vllm-project/vllm-omni/pull/6878
Report: https://github.com/vllm-project/vllm/issues/52104
Fails: norm
"""

LINES = {
    "operators.cpp": r"""
-       squares += sums[e] * sums[e];
+       squares += sum * sum;
""",
}
