"""Exponentiates logits as they are, without taking off the largest.

Fails: generate
"""

LINES = {
    "_chances": r"""
-     return (logits.float() / temperature).softmax(-1)
+     weights = (logits.float() / temperature).exp()
+     return weights / weights.sum(-1, keepdim=True)
""",
}
