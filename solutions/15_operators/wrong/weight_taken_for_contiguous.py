"""weight is read as if it were contiguous.

Fails: norm
"""

LINES = {
    "operators.cpp": r"""
-       out[e] = static_cast<T>(sums[e] * scale * static_cast<float>(w[e * step]));
+       out[e] = static_cast<T>(sums[e] * scale * static_cast<float>(w[e]));
""",
}
