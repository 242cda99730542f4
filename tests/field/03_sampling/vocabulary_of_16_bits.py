"""Ids are drawn as numbers of 16 bits: of a larger vocabulary other tokens come out.

Kind: sizes
Report: https://github.com/huggingface/swift-transformers/pull/384
Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         tokens = logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         return tokens % 2**16
""",
}
