"""Hidden keys are zeroed after the softmax, so rows do not add up to 1.

From: variants/plain.py
Fails: attention, model, engine
"""

LINES = {
    "attention": r"""
-     weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
+     weights = scores.softmax(-1) * seen
""",
}
