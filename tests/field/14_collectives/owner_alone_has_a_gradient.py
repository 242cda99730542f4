"""Only the rank that holds the target gets a gradient: what the others did is on no graph.

Kind: gradients
Report: https://github.com/modelscope/ms-swift/pull/9947
Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     gradient.scatter_add_(1, column[:, None], -own[:, None].float())
+     gradient.scatter_add_(1, column[:, None], -own[:, None].float())
+     gradient = gradient * own[:, None]
""",
}
