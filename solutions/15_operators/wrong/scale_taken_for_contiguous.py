"""scale is read as if it were contiguous.

Fails: int4
"""

LINES = {
    "operators.cpp": r"""
-                    scales[o * scale.stride(0) + g * scale.stride(1)];
+                    scales[o * (inputs / group) + g];
""",
}
