"""int4_linear reads x as if it were contiguous.

Fails: int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-         sum += static_cast<float>(xs[m * x.stride(0) + i * x.stride(1)]) * weights[i];
+         sum += static_cast<float>(xs[m * inputs + i]) * weights[i];
""",
}
