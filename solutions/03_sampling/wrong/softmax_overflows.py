"""The softmax of top_p and min_p takes exp of the logits as they are.

Fails: filters
"""

LINES = {
    "top_p": r"""
-     ranked = logits.float().softmax(-1).gather(-1, order)
+     weights = logits.float().exp()
+     ranked = (weights / weights.sum(-1, keepdim=True)).gather(-1, order)
""",
}
