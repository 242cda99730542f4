"""The padding is hidden in the first step alone: later ones have a mask of their new tokens.

Kind: positions
Report: https://github.com/thu-nics/C2C/pull/19
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         logits_BTV = model(tokens, positions, causal_mask(valid))
+         shown = valid if not any(outputs) else torch.ones_like(valid)
+         logits_BTV = model(tokens, positions, causal_mask(shown))
""",
}
