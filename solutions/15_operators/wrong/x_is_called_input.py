"""The schema has another name for an argument.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   m.def("int4_linear(Tensor x, Tensor packed, Tensor scale, Tensor zero, int group) -> Tensor");
+   m.def("int4_linear(Tensor input, Tensor packed, Tensor scale, Tensor zero, int group) -> Tensor");
""",
}
