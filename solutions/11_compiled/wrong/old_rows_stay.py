"""Only the rows of a step are copied: those of the step before are written again.

Fails: graphs
"""

LINES = {
    "GraphRunner.step": r"""
-         padding = [0] * (size - n), [0] * (size - n), [self._cache.slots] * (size - n)
-         given = zip((tokens, positions, slots), padding, strict=True)
-         inputs.copy_(torch.tensor([[*some, *more] for some, more in given]))
+         inputs[:, :n].copy_(torch.tensor([tokens, positions, slots]))
""",
}
