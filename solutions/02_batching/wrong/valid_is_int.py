"""valid holds 0 and 1 as int64 in place of bool.

From: variants/plain.py
Fails: pad
"""

LINES = {
    "left_pad": r"""
-     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid
+     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid.long()
""",
    "causal_mask": r"""
  def causal_mask(valid: Tensor) -> Tensor:
+     valid = valid.bool()
""",
}
