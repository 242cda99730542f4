"""Builds the mask once, from the prompts.

From: variants/grown.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
      tokens, positions, valid = left_pad(prompts, pad_id)
+     mask = causal_mask(valid)
...
-         logits = model(tokens, positions, causal_mask(valid))
+         logits = model(tokens, positions, mask)
""",
}
