"""Row b begins V places behind row b - 1, as if the logits were no view of a padded vocabulary.

Kind: layouts
Report: https://github.com/vllm-project/vllm/issues/42684
Report: https://github.com/flashinfer-ai/flashinfer/issues/1866
Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         rows = logits.as_strided(logits.shape, (logits.shape[1], 1))
+         return rows.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
""",
}
