"""-inf minus -inf: rows that see no key are NaN.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-             safe = new.masked_fill(new == -math.inf, 0.0)  # -inf - -inf would be NaN
-             p, shrink = torch.exp(scores - safe), torch.exp(top - safe)
+             p, shrink = torch.exp(scores - new), torch.exp(top - new)
""",
}
