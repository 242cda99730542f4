"""Two shapes fit if they have as many elements.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   bool same = t.dim() == other.dim();
-   for (int64_t d = 0; same && d < t.dim(); ++d) same = t.size(d) == other.size(d);
-   STD_TORCH_CHECK(same, name, " has another shape");
+   STD_TORCH_CHECK(t.numel() == other.numel(), name, " has another shape");
""",
}
