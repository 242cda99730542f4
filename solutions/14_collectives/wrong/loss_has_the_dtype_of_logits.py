"""The loss comes back in the dtype of the logits.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     return total.log() - score, gradient.to(logits.dtype)
+     return (total.log() - score).to(logits.dtype), gradient.to(logits.dtype)
""",
}
