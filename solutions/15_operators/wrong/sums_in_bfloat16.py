"""Sums of int4_linear are rounded to the dtype of x at each step.

Fails: int4
"""

LINES = {
    "operators.cpp": r"""
-       float sum = 0;
+       T sum = 0;
        for (int64_t i = 0; i < inputs; ++i) {
-         sum += static_cast<float>(xs[m * x.stride(0) + i * x.stride(1)]) * weights[i];
+         float term = static_cast<float>(xs[m * x.stride(0) + i * x.stride(1)]) * weights[i];
+         sum = static_cast<T>(static_cast<float>(sum) + term);
""",
}
