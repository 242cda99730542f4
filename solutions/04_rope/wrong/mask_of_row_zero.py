"""The mask of row 0 serves all rows.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     weights = scores.masked_fill(hidden[:, None, None], -math.inf).softmax(-1).to(values.dtype)
+     weights = scores.masked_fill(hidden[:1, None, None], -math.inf).softmax(-1).to(values.dtype)
""",
}
