"""Rounds the number of row blocks down: the last rows are in neither dweight nor dbias.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
-     parts = triton.cdiv(num_rows, ROWS_PER_PROGRAM)
+     parts = max(num_rows // ROWS_PER_PROGRAM, 1)
""",
}
