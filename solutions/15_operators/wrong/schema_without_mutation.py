"""The schema does not say that residual is written.

Fails: silu_mul, fake
"""

LINES = {
    "operators.cpp": r"""
-   m.def("add_rms_norm(Tensor x, Tensor(a!) residual, Tensor weight, float eps) -> Tensor");
+   m.def("add_rms_norm(Tensor x, Tensor residual, Tensor weight, float eps) -> Tensor");
""",
}
