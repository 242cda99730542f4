"""The shape of zero is not looked at.

Fails: int4
"""

LINES = {
    "operators.cpp": r"""
-   check_groups(zero, "zero", ScalarType::Byte, outputs, inputs / group);
+   STD_TORCH_CHECK(zero.scalar_type() == ScalarType::Byte, "zero must be uint8");
""",
}
