"""The schema says of all tensors that they are written.

Kind: contracts
Report: https://github.com/ROCm/aiter/issues/2780
Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   m.def("add_rms_norm(Tensor x, Tensor(a!) residual, Tensor weight, float eps) -> Tensor");
+   m.def("add_rms_norm(Tensor(a!) x, Tensor(b!) residual, Tensor(c!) weight, float eps) -> Tensor");
""",
}
