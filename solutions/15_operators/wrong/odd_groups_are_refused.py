"""A group must be even.

Fails: int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-   STD_TORCH_CHECK(inputs % 2 == 0, "x must have an even number of columns");
+   STD_TORCH_CHECK(group % 2 == 0, "group must be even");
""",
}
