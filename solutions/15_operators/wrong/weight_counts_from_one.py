"""The norm is multiplied by one plus weight.

Fails: norm, fake
"""

LINES = {
    "operators.cpp": r"""
-       out[e] = static_cast<T>(sums[e] * scale * static_cast<float>(w[e * step]));
+       out[e] = static_cast<T>(sums[e] * scale * (1.0f + static_cast<float>(w[e * step])));
""",
}
