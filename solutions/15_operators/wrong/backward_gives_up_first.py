"""The backward returns the gradient of up before that of gate.

Fails: silu_mul, autograd
"""

LINES = {
    "operators.cpp": r"""
-   return {dgate, dup};
+   return {dup, dgate};
""",
}
