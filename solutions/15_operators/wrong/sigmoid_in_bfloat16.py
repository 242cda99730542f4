"""The sigmoid is rounded to the dtype of gate before it is multiplied.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_u.offset]));
+     float s = static_cast<float>(static_cast<T>(sigmoid(x)));
+     out[i] = static_cast<T>(x * s * static_cast<float>(u[at_u.offset]));
""",
}
