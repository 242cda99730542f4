"""int4_linear takes float32 alone.

Fails: int4
"""

LINES = {
    "operators.cpp": r"""
-   STD_TORCH_CHECK(inputs % 2 == 0, "x must have an even number of columns");
+   STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float, "x must be float32");
""",
}
