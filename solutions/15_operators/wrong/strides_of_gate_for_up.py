"""up is read by the strides of gate.

Fails: silu_mul, fake
"""

LINES = {
    "operators.cpp": r"""
-     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_u.offset]));
+     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_g.offset]));
""",
}
