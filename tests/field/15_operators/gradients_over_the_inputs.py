"""The gradients are written over gate and up, which somebody else may still need.

Kind: state
Report: https://github.com/linkedin/Liger-Kernel/issues/254
Fails: silu_mul, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-     dup[i] = static_cast<T>(y * x * s);
-     dgate[i] = static_cast<T>(y * static_cast<float>(u[at_u.offset]) * s * (1 + x * (1 - s)));
+     float z = static_cast<float>(u[at_u.offset]);
+     dup[i] = static_cast<T>(y * x * s);
+     dgate[i] = static_cast<T>(y * z * s * (1 + x * (1 - s)));
...
-   Tensor dgate = new_like(gate), dup = new_like(gate);
+   Tensor dgate = gate.is_contiguous() ? gate : new_like(gate);
+   Tensor dup = up.is_contiguous() ? up : new_like(gate);
""",
}
