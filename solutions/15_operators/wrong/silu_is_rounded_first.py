"""silu of gate is rounded to its dtype, and then multiplied by up, as two operators do.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_u.offset]));
+     float y = static_cast<float>(static_cast<T>(x * sigmoid(x)));
+     out[i] = static_cast<T>(y * static_cast<float>(u[at_u.offset]));
""",
}
