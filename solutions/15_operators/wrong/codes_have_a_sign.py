"""Codes of 8 and more are taken for negative ones.

Fails: int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-       int code = i % 2 ? byte >> 4 : byte & 15;
+       int code = i % 2 ? byte >> 4 : byte & 15;
+       if (code > 7) code -= 16;
""",
}
