"""Each draw starts anew from the seed that the caller's generator began with.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
+         if generator is not None:
+             generator = Generator(logits.device).manual_seed(generator.initial_seed())
          return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
""",
}
