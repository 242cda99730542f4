"""Each token is decoded by itself: a character whose bytes lie in two of them is lost.

From: variants/plain.py
Kind: contracts
Report: https://github.com/exo-explore/exo/pull/1691
Report: https://github.com/waybarrios/vllm-mlx/pull/109
Fails: engine
"""

LINES = {
    "Engine.execute": r"""
-             texts.append(self.tokenizer.decode(new))
+             texts.append("".join(self.tokenizer.decode([token]) for token in new))
""",
}
