"""Sixteen bytes are loaded at a time, wherever a tensor begins.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-   if (is_aligned(g) && is_aligned(u)) {
+   if (count > 0) {
""",
}
