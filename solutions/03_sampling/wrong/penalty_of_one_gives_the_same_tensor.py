"""A penalty of 1 gives the caller's own tensor back.

Fails: filters
"""

LINES = {
    "repetition_penalty": r"""
+     if penalty == 1:
+         return logits
      said = torch.zeros_like(logits, dtype=torch.bool)
""",
}
