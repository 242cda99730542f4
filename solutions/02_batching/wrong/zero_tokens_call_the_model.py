"""max_new_tokens=0 runs the prompts and throws the logits away.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
      live = list(range(len(prompts)))
+     if live and max_new_tokens == 0:
+         tokens, positions, valid = left_pad(prompts, pad_id)
+         model(tokens, positions, causal_mask(valid))
""",
}
