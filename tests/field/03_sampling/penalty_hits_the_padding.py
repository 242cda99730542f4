"""Histories are padded with id 0 to one length, and the padding counts as said.

Kind: state
Report: https://github.com/huggingface/text-generation-inference/pull/1765
Fails: filters
"""

LINES = {
    "repetition_penalty": r"""
+     longest = max(map(len, history))
+     history = [tokens + [0] * (longest - len(tokens)) for tokens in history]
      said = torch.zeros_like(logits, dtype=torch.bool)
""",
}
