"""The sigmoid of the backward is rounded to the dtype of gate.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-     float s = sigmoid(x);
+     float s = static_cast<float>(static_cast<T>(sigmoid(x)));
""",
}
