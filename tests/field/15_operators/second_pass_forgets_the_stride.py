"""The mean is of the right elements; those that are multiplied by it are read as if they lay side by side.

Kind: layouts
Report: https://github.com/ModelTC/LightLLM/issues/1467
Fails: norm
"""

LINES = {
    "operators.cpp": r"""
-       out[e] = static_cast<T>(sums[e] * scale * static_cast<float>(w[e * step]));
+       float value = static_cast<float>(r[row * width + e]);
+       out[e] = static_cast<T>(value * scale * static_cast<float>(w[e * step]));
""",
}
