"""A guess is drawn at the temperature and judged by the draft's law at temperature 1.

Kind: laws
Report: https://github.com/huggingface/transformers/issues/47932
Fails: generate
"""

LINES = {
    "_guess": r"""
-             chances.append(_chances(logits, temperature))
-             guess.append(_draw(chances[-1], generator))
+             chances.append(_chances(logits, 1.0))
+             guess.append(_draw(_chances(logits, temperature), generator))
""",
}
