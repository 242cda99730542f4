"""The buffer of partial sums has a row for each whole share; the last program writes behind it.

From: variants/tiles.py
Kind: gradients
Report: https://github.com/BobMcDear/attorch/issues/18
Fails: backward
"""

LINES = {
    "layer_norm_backward": r"""
-     sums = torch.zeros(2, parts, width, dtype=torch.float32, device=x.device)
+     whole = max(num_rows // share, 1)
+     sums = torch.zeros(2, whole, width, dtype=torch.float32, device=x.device)
""",
}
