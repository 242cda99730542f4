"""Of the tokens that end a text the first one is looked at.

Kind: contracts
Report: https://github.com/Blaizzy/mlx-vlm/pull/309
Fails: prefill
"""

LINES = {
    "generate": r"""
-     while token not in eos_ids:
+     while token not in eos_ids[:1]:
""",
}
