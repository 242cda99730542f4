"""The result of attend is float32 whatever q is.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     weights = scores.masked_fill(hidden[:, None, None], -math.inf).softmax(-1).to(values.dtype)
-     return (weights @ values.unsqueeze(2)).flatten(1, 2)
+     weights = scores.masked_fill(hidden[:, None, None], -math.inf).softmax(-1)
+     return (weights @ values.float().unsqueeze(2)).flatten(1, 2)
""",
}
