"""The kernels are registered in Python, and the library has schemas alone.

Fails: silu_mul, norm, int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-   m.impl("silu_mul", TORCH_BOX(&silu_mul));
-   m.impl("silu_mul_backward", TORCH_BOX(&silu_mul_backward));
-   m.impl("add_rms_norm", TORCH_BOX(&add_rms_norm));
-   m.impl("int4_linear", TORCH_BOX(&int4_linear));
""",
}
