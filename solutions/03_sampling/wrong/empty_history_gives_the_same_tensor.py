"""Where nothing has been said the caller's own tensor comes back.

Fails: filters
"""

LINES = {
    "repetition_penalty": r"""
+     if not any(history):
+         return logits
      said = torch.zeros_like(logits, dtype=torch.bool)
""",
}
