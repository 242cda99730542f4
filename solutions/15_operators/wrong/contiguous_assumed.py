"""Both inputs of silu_mul are read as if they were contiguous.

Fails: silu_mul, fake
"""

LINES = {
    "operators.cpp": r"""
    Walk at_g(gate), at_u(up);
    for (int64_t i = 0, n = gate.numel(); i < n; ++i, at_g.next(), at_u.next()) {
-     float x = static_cast<float>(g[at_g.offset]);
-     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_u.offset]));
+     float x = static_cast<float>(g[i]);
+     out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[i]));
""",
}
