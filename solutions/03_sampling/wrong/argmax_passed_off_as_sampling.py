"""Every sampler is greedy.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         return logits.argmax(-1)
""",
}
