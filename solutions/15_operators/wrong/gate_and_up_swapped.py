"""The sigmoid is of up.

Fails: silu_mul, fake
"""

LINES = {
    "operators.cpp": r"""
-     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_u.offset]));
+     float y = static_cast<float>(u[at_u.offset]);
+     out[i] = static_cast<T>(y * sigmoid(y) * x);
""",
}
