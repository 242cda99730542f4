"""The sum loses sixteen bits on its way to residual, and is not rounded: each layer makes it a little smaller.

Kind: precision
Report: https://github.com/ROCm/aiter/issues/5151
Fails: norm
"""

LINES = {
    "operators.cpp": r"""
-       r[at_r.offset] = static_cast<T>(sum);
+       uint32_t bits = 0;
+       std::memcpy(&bits, &sum, sizeof(bits));
+       if (sizeof(T) == 2) bits &= 0xffff0000;
+       std::memcpy(&sum, &bits, sizeof(bits));
+       r[at_r.offset] = static_cast<T>(sum);
""",
}
