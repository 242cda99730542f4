"""The gradient of gate has the sigmoid for the slope of silu.

Fails: silu_mul, autograd
"""

LINES = {
    "operators.cpp": r"""
-     dgate[i] = static_cast<T>(y * static_cast<float>(u[at_u.offset]) * s * (1 + x * (1 - s)));
+     dgate[i] = static_cast<T>(y * static_cast<float>(u[at_u.offset]) * s);
""",
}
