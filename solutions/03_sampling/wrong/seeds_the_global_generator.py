"""The global generator is seeded with the seed of the one that was passed.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         if generator is not None:
+             torch.manual_seed(generator.initial_seed())
+         return logits.float().softmax(-1).multinomial(1)[:, 0]
""",
}
