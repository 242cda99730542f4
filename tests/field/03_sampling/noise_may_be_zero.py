"""The noise of a draw may be 0, and 0 / 0 is larger than any number to argmax.

Kind: laws
Report: https://github.com/pytorch/pytorch/issues/192577
Report: https://github.com/pytorch/pytorch/pull/47386
Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         chances = logits.float().softmax(-1)
+         noise = torch.rand(chances.shape, generator=generator, dtype=torch.float16)
+         return (chances / -(1 - noise.float()).log()).argmax(-1)
""",
}
