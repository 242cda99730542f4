"""A block for each row, as many as a second axis could have: the rows behind are left out.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-   for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
+   for (int64_t row = blockIdx.x; row < rows; row = rows) {
""",
}
