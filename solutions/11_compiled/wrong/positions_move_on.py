"""A step adds one to its positions, so that they are there for the next.

Fails: step
"""

LINES = {
    "decode_step": r"""
-     return _forward(model, cache, tokens.unsqueeze(1), positions.unsqueeze(1), slots)[:, 0]
+     logits = _forward(model, cache, tokens.unsqueeze(1), positions.unsqueeze(1), slots)[:, 0]
+     positions += 1
+     return logits
""",
}
