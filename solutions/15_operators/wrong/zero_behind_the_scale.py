"""The code is scaled, and zero subtracted then.

Fails: int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-       weights[i] = static_cast<float>(code - offset) *
-                    scales[o * scale.stride(0) + g * scale.stride(1)];
+       weights[i] = code * scales[o * scale.stride(0) + g * scale.stride(1)] - offset;
""",
}
