"""The gradient is the softmax alone.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     gradient.scatter_add_(1, column[:, None], -own[:, None].float())
""",
}
