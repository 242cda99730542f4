"""The sigmoid is exp(x) / (1 + exp(x)), and exp overflows.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
- float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
+ float sigmoid(float x) { return std::exp(x) / (1.0f + std::exp(x)); }
""",
}
