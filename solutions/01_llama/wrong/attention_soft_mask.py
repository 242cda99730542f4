"""The mask subtracts 1000, which large scores overcome.

From: variants/plain.py
Fails: attention
"""

LINES = {
    "attention": r"""
-     weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
+     weights = (scores - 1000.0 * ~seen).softmax(-1)
""",
}
