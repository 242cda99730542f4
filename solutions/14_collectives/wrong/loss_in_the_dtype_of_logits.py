"""Exponentials are taken in the dtype of the logits.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     scores = scores - top[:, None]
-     masses = scores.exp()
+     scores = scores - top[:, None]
+     masses = scores.to(logits.dtype).exp().float()
""",
}
