"""Guesses are drawn from logits in bfloat16, and judged as if from those in float32.

Kind: precision
Report: https://github.com/deepseek-ai/DeepSpec/issues/31
Fails: generate
"""

LINES = {
    "_guess": r"""
-             guess.append(_draw(chances[-1], generator))
+             guess.append(_draw(_chances(logits.bfloat16(), temperature), generator))
""",
}
