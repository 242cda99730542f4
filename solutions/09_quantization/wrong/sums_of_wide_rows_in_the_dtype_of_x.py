"""Where x is wide enough to be parted, the sums of its parts are rounded to its dtype.

Fails: kernel, speed
"""

LINES = {
    "int4_matmul": r"""
-     sums = y[None] if grid[2] == 1 else y.new_empty(grid[2], *y.shape, dtype=torch.float32)
+     sums = y[None] if grid[2] == 1 else y.new_empty(grid[2], *y.shape)
""",
}
