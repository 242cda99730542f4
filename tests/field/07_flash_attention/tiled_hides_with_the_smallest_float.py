"""Hidden scores are the smallest float, not -inf: a row that sees nothing is the mean of all values.

Kind: levels
Report: https://github.com/Dao-AILab/flash-attention/issues/442
Fails: tiled
"""

LINES = {
    "_attend_tile": r"""
-         scores = scores.masked_fill(columns > visible, -math.inf)
+         scores = scores.masked_fill(columns > visible, torch.finfo(scores.dtype).min)
""",
}
