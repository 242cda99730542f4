"""A block of rows has no bound: where it does not divide M, rows of nobody are read and written.

From: variants/tiles.py
Kind: sizes
Report: https://github.com/thu-ml/TurboDiffusion/pull/103
Fails: forward, backward
"""

LINES = {
    "forward_kernel": r"""
-     there = row < num_rows
+     there = row >= 0
""",
}
