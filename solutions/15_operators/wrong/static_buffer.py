"""A buffer of all calls holds the sums of a row.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   std::vector<float> sums(width);
+   static std::vector<float> sums;
+   if (static_cast<int64_t>(sums.size()) < width) sums.resize(1 << 16);
""",
}
