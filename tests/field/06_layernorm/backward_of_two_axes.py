"""Backward takes the first axis for the rows and all others for the columns, as forward does not.

From: variants/simple.py
Kind: layouts
Report: https://github.com/flagos-ai/FlagGems/issues/5392
Fails: backward
"""

LINES = {
    "layer_norm_backward": r"""
-     num_rows, width = rows.shape
+     num_rows, width = x.shape[0], x.numel() // max(x.shape[0], 1)
""",
}
