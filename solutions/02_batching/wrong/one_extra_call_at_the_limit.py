"""Computes the logits of a token that nobody asked for.

From: variants/grown.py
Fails: generate
"""

LINES = {
    "generate": r"""
          positions = (valid.cumsum(-1) - 1).clamp(min=0)
+     if outputs and not all(done):
+         model(tokens, positions, causal_mask(valid))
""",
}
