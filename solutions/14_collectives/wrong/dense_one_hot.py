"""The one-hot is made over the whole vocabulary, and then cut.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     gradient.scatter_add_(1, column[:, None], -own[:, None].float())
+     whole = torch.zeros(len(targets), 8 * logits.shape[1] + start)
+     place = targets.clamp(max=whole.shape[1] - 1)
+     whole.scatter_(1, place[:, None], 1.0)
+     gradient -= whole[:, start : start + logits.shape[1]]
""",
}
