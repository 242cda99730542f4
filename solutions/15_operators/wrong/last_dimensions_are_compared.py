"""Two shapes fit if their last dimensions do: the shorter one is begun again.

Fails: silu_mul, norm
"""

LINES = {
    "operators.cpp": r"""
-   bool same = t.dim() == other.dim();
-   for (int64_t d = 0; same && d < t.dim(); ++d) same = t.size(d) == other.size(d);
+   bool same = !t.dim() || !other.dim() || t.size(t.dim() - 1) == other.size(other.dim() - 1);
""",
}
