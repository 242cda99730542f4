"""bfloat16 is made by cutting sixteen bits off, without rounding.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_u.offset]));
+     float y = x * sigmoid(x) * static_cast<float>(u[at_u.offset]);
+     uint32_t bits = 0;
+     std::memcpy(&bits, &y, sizeof(bits));
+     if (sizeof(T) == 2) bits &= 0xffff0000;
+     std::memcpy(&y, &bits, sizeof(bits));
+     out[i] = static_cast<T>(y);
""",
}
