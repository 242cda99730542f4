"""Each warp norms by the squares of its own elements.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-   for (float part : of_warp) sum += part;
+   sum = of_warp[threadIdx.x / WARP];
""",
}
