"""Each zero is taken for one less than it is.

Fails: int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-       weights[i] = static_cast<float>(code - offset) *
+       weights[i] = static_cast<float>(code - offset - 1) *
""",
}
