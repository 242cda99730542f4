"""The softmax runs over queries, not keys.

From: variants/plain.py
Fails: attention, model, engine
"""

LINES = {
    "attention": r"""
-     weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
+     weights = scores.masked_fill(~seen, -math.inf).softmax(-2)
""",
}
