"""top_p computes probabilities and sums in the precision of the logits.

Fails: filters
"""

LINES = {
    "top_p": r"""
-     ranked = logits.float().softmax(-1).gather(-1, order)
+     ranked = logits.softmax(-1).gather(-1, order)
""",
}
