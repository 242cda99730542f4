"""exp without subtracting the maximum.

From: variants/plain.py
Fails: attention
"""

LINES = {
    "attention": r"""
-     weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
+     weights = scores.exp() * seen
+     weights = weights / weights.sum(-1, keepdim=True)
""",
}
