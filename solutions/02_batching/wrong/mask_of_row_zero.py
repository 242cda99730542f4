"""All rows get the padding of row 0.

From: variants/plain.py
Fails: mask, generate, engine
"""

LINES = {
    "causal_mask": r"""
  def causal_mask(valid: Tensor) -> Tensor:
+     valid = valid[:1].expand_as(valid)
""",
}
