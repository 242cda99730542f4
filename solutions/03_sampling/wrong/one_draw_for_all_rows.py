"""One random number decides for all rows.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         heights = logits.double().softmax(-1).cumsum(-1)
+         level = torch.rand(1, 1, generator=generator, dtype=torch.float64, device=logits.device)
+         return torch.searchsorted(heights, (level * heights[:, -1:]), right=True)[:, 0]
""",
}
