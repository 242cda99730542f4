"""The gradient is float32, whatever the logits are.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     return total.log() - score, gradient.to(logits.dtype)
+     return total.log() - score, gradient
""",
}
