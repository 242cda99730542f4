"""There is a mask only where T = S: the tokens of a chunk behind others see each other.

From: variants/plain.py
Kind: positions
Report: https://github.com/mlx-node/mlx-node/pull/24
Fails: attention
"""

LINES = {
    "attention": r"""
-     weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
+     if new == context:
+         scores = scores.masked_fill(~seen, -math.inf)
+     weights = scores.softmax(-1)
""",
}
