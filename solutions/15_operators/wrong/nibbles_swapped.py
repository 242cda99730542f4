"""The even column is read from the high half of a byte.

Fails: int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-       int code = i % 2 ? byte >> 4 : byte & 15;
+       int code = i % 2 ? byte & 15 : byte >> 4;
""",
}
