"""dy is reshaped to rows, and its columns are taken to lie side by side: a slice of it is misread.

From: variants/simple.py
Kind: layouts
Report: https://github.com/unslothai/unsloth/pull/10617
Report: https://github.com/Dao-AILab/quack/issues/88
Fails: backward
"""

LINES = {
    "layer_norm_backward": r"""
-     up, rows = as_rows(dy), as_rows(x)
+     up, rows = dy.reshape(-1, x.shape[-1]), as_rows(x)
""",
}
