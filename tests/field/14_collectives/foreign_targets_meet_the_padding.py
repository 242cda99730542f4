"""A foreign target stands behind the last column, where padding of minus infinity lies.

Kind: sizes
Report: https://github.com/apple/ml-cross-entropy/pull/59
Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     hit = scores.gather(1, column[:, None])[:, 0].masked_fill(~own, 0)
+     padded = torch.nn.functional.pad(scores, (0, 1), value=-torch.inf)
+     hit = padded.gather(1, column.where(own, logits.shape[1])[:, None])[:, 0]
""",
}
