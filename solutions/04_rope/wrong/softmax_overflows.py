"""The softmax does not subtract the largest score.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     weights = scores.masked_fill(hidden[:, None, None], -math.inf).softmax(-1).to(values.dtype)
+     powers = scores.masked_fill(hidden[:, None, None], -math.inf).exp()
+     weights = (powers / powers.sum(-1, keepdim=True)).to(values.dtype)
""",
}
