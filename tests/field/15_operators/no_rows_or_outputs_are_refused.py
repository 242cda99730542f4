"""A product of no rows is refused, though an image may well have nothing in it.

Kind: sizes
Report: https://github.com/microsoft/onnxruntime/issues/348
Fails: int4
"""

LINES = {
    "operators.cpp": r"""
-   STD_TORCH_CHECK(inputs % 2 == 0, "x must have an even number of columns");
+   STD_TORCH_CHECK(inputs % 2 == 0, "x must have an even number of columns");
+   STD_TORCH_CHECK(x.size(0) > 0 && outputs > 0 && inputs > 0, "x and packed must not be empty");
""",
}
