"""Sums and random numbers have the precision of the logits: few tokens can come.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         heights = logits.softmax(-1).cumsum(-1)
+         levels = torch.rand(
+             len(logits), 1, generator=generator, dtype=logits.dtype, device=logits.device
+         )
+         ids = torch.searchsorted(heights, levels * heights[:, -1:], right=True)[:, 0]
+         return ids.clamp(max=logits.shape[1] - 1)
""",
}
