"""One is taken off each zero, four bits of it are kept, and one is added: 0 becomes 16.

Kind: parameters
Report: https://github.com/ModelCloud/GPTQModel/issues/2350
Fails: int4, fake, autograd
"""

LINES = {
    "operators.cpp": r"""
-       int offset = zeros[o * zero.stride(0) + g * zero.stride(1)];
+       int offset = ((zeros[o * zero.stride(0) + g * zero.stride(1)] - 1) & 15) + 1;
""",
}
