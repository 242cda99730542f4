"""up is a half of a wider projection, and is read as if its rows lay side by side.

Kind: layouts
Report: https://github.com/vllm-project/vllm/pull/3324
Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_u.offset]));
+     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[i]));
""",
}
