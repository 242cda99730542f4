"""int4_linear refuses x without rows.

Fails: int4
"""

LINES = {
    "operators.cpp": r"""
-   STD_TORCH_CHECK(inputs % 2 == 0, "x must have an even number of columns");
+   STD_TORCH_CHECK(x.size(0) > 0, "x has no rows");
""",
}
