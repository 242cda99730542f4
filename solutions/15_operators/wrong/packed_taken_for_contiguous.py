"""packed is read as if it were contiguous.

Fails: int4
"""

LINES = {
    "operators.cpp": r"""
-       int byte = bytes[o * packed.stride(0) + i / 2 * packed.stride(1)];
+       int byte = bytes[o * (inputs / 2) + i / 2];
""",
}
