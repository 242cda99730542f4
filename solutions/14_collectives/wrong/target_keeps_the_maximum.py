"""The target's score goes into the sum as it is, and the maximum comes off afterwards.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     total, score = peer.all_reduce(torch.stack([masses.sum(-1), hit]), "sum")
+     hit = hit + top.where(own, 0)
+     total, score = peer.all_reduce(torch.stack([masses.sum(-1), hit]), "sum")
+     score = score - top
""",
}
