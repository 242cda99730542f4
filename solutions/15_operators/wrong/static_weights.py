"""A buffer of all calls holds the weights of an output.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   std::vector<float> weights(inputs);
+   static std::vector<float> weights;
+   if (static_cast<int64_t>(weights.size()) < inputs) weights.resize(1 << 16);
""",
}
