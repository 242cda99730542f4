"""A greedy sampler draws and then throws the draw away.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
          if self.greedy:
+             logits.float().softmax(-1).multinomial(1, generator=generator)
""",
}
