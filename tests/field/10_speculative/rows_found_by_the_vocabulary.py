"""Row i of the target begins V places behind row i - 1, though the vocabulary may be padded.

Kind: layouts
Report: https://github.com/vllm-project/vllm/issues/42684
Fails: sample
"""

LINES = {
    "accept_sample": r"""
+     target_probs = target_probs.as_strided(target_probs.shape, (target_probs.shape[1], 1))
      for i, token in enumerate(draft):
""",
}
