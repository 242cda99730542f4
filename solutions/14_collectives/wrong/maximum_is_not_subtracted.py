"""exp is taken of the logits themselves.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     scores = scores - top[:, None]
-     masses = scores.exp()
+     masses = scores.exp()
...
-     total, score = peer.all_reduce(torch.stack([masses.sum(-1), hit]), "sum")
+     sums = torch.stack([masses.sum(-1) / top.exp(), hit - top.where(own, 0)])
+     total, score = peer.all_reduce(sums, "sum")
+     masses = masses / top.exp()[:, None]
""",
}
