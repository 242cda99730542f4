"""The caller's generator is set back after each draw.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         before = None if generator is None else generator.get_state()
+         drawn = logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         if generator is not None:
+             generator.set_state(before)
+         return drawn
""",
}
