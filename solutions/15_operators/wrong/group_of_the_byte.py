"""Both halves of a byte take the group of the even column.

Fails: int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-       int64_t g = i / group;
+       int64_t g = i / 2 * 2 / group;
""",
}
