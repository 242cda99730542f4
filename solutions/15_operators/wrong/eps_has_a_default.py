"""The schema gives eps a default.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   m.def("add_rms_norm(Tensor x, Tensor(a!) residual, Tensor weight, float eps) -> Tensor");
+   m.def("add_rms_norm(Tensor x, Tensor(a!) residual, Tensor weight, float eps=1e-6) -> Tensor");
""",
}
