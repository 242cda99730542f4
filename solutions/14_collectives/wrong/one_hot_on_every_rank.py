"""The gradient has its one-hot on every rank, in column 0 where the target is foreign.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     gradient.scatter_add_(1, column[:, None], -own[:, None].float())
+     gradient.scatter_add_(1, column[:, None], -torch.ones_like(column[:, None]).float())
""",
}
