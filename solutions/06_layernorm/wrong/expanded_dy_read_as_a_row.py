"""Takes the columns of dy to be side by side, also where dy was expanded from one number.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
-     up, rows = as_rows(dy), as_rows(x)
+     up, rows = dy.reshape(-1, dy.shape[-1]), as_rows(x)
""",
}
